"""Work on side streams of the pretended GPU is missed exactly when nobody waits for it."""

import pytest
import torch

from tilesmith.worker.fake_cuda import streams
from tilesmith.worker.fake_cuda.pretend_cuda import pretend_cuda
from tilesmith.worker.fake_cuda.streams import begin_call, unjoined


@pytest.fixture(autouse=True)
def cuda():
    with pretend_cuda():
        begin_call()
        yield


@pytest.fixture
def side():
    return torch.cuda.Stream()


def _work_on(stream):
    with torch.cuda.stream(stream):
        return torch.ones(4, device="cuda") * 2


def test_work_on_the_callers_stream_is_never_missed():
    _work_on(None)
    _work_on(torch.cuda.default_stream())
    torch.ones(3, device="cuda").add_(1)
    assert unjoined() == []


def test_work_that_nobody_waits_for_is_described(side):
    _work_on(side)
    (left,) = unjoined()
    assert hex(side.cuda_stream) in left
    assert "2 operations" in left
    assert "mul" in left


def _wait_for_event_by_stream(side):
    torch.cuda.current_stream().wait_event(side.record_event())


def _wait_for_event_by_event(side):
    event = torch.cuda.Event()
    event.record(side)
    event.wait()


def _wait_for_event_on_host(side):
    with torch.cuda.stream(side):
        event = torch.cuda.Event()
        event.record()
    event.synchronize()


def _wait_through_another_stream(side):
    other = torch.cuda.Stream()
    other.wait_stream(side)
    torch.cuda.current_stream().wait_stream(other)


def _wait_for_an_event_of_another_stream(side):
    other = torch.cuda.Stream()
    other.wait_event(side.record_event())
    torch.cuda.default_stream().wait_event(other.record_event())


def _wait_by_reading(side):
    with torch.cuda.stream(side):
        torch.ones(1, device="cuda").item()


def _wait_by_copying_to_the_host(side):
    with torch.cuda.stream(side):
        torch.ones(1, device="cuda").to("cpu")


JOINS = {
    "wait_stream": lambda side: torch.cuda.current_stream().wait_stream(side),
    "wait_event": _wait_for_event_by_stream,
    "event.wait": _wait_for_event_by_event,
    "event.synchronize": _wait_for_event_on_host,
    "stream.synchronize": lambda side: side.synchronize(),
    "synchronize": lambda side: torch.cuda.synchronize(),
    "another stream": _wait_through_another_stream,
    "another stream's event": _wait_for_an_event_of_another_stream,
    "item": _wait_by_reading,
    "to cpu": _wait_by_copying_to_the_host,
}


@pytest.mark.parametrize("join", JOINS.values(), ids=JOINS.keys())
def test_every_way_to_wait(side, join):
    _work_on(side)
    join(side)
    assert unjoined() == []
    _work_on(side)
    assert len(unjoined()) == 1, "what comes after the wait is not waited for"


def _wait_the_wrong_way(side):
    side.wait_stream(torch.cuda.current_stream())


def _wait_for_an_old_event(side):
    torch.cuda.current_stream().wait_event(EARLIER[0])


def _wait_on_a_third_stream(side):
    torch.cuda.Stream().wait_stream(side)


def _bring_to_the_host_without_waiting(side):
    with torch.cuda.stream(side):
        torch.ones(1, device="cuda").to("cpu", non_blocking=True)


EARLIER = []
NO_JOINS = {
    "the wrong way": _wait_the_wrong_way,
    "an event from before the work": _wait_for_an_old_event,
    "an event never recorded": lambda side: torch.cuda.Event().wait(),
    "a third stream": _wait_on_a_third_stream,
    "a copy that does not wait": _bring_to_the_host_without_waiting,
    "another stream's synchronize": lambda side: torch.cuda.Stream().synchronize(),
    "a question": lambda side: side.query(),
}


@pytest.mark.parametrize("pretend_to_wait", NO_JOINS.values(), ids=NO_JOINS.keys())
def test_what_only_looks_like_waiting(side, pretend_to_wait):
    _work_on(side)
    EARLIER[:] = [side.record_event()]
    begin_call()
    _work_on(side)
    pretend_to_wait(side)
    assert len(unjoined()) == 1


QUIET = {
    "shape": lambda x: (x.shape, x.size(), x.stride(), x.numel(), x.dtype, x.data_ptr()),
    "device": lambda x: (x.device, x.is_cuda, x.is_contiguous(), x.requires_grad),
    "views": lambda x: (x.view(-1), x.T, x[0], x.reshape(4), x.expand(3, 2, 2), x.detach(), x.chunk(2)),
    "nothing to do": lambda x: (x.contiguous(), x.to("cuda"), x.cuda(), x.float()),
    "record_stream": lambda x: x.record_stream(torch.cuda.current_stream()),
}


@pytest.mark.parametrize("ask", QUIET.values(), ids=QUIET.keys())
def test_questions_and_views_are_no_work(side, ask):
    x = torch.ones(2, 2, device="cuda")
    with torch.cuda.stream(side):
        ask(x)
    assert unjoined() == []


WORK = {
    "in place": lambda x: x.add_(1),
    "augmented": lambda x: x.__iadd__(1),
    "out=": lambda x: torch.add(x, 1, out=x),
    "assignment": lambda x: x.__setitem__(0, 1.0),
    "copy": lambda x: x.clone(),
    "module": lambda x: torch.nn.Linear(2, 2)(x),
    "functional": lambda x: torch.nn.functional.relu(x),
    "several results": lambda x: x.max(dim=0),
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK.keys())
def test_what_computes_is_work(side, work):
    x = torch.ones(2, 2, device="cuda")
    with torch.no_grad(), torch.cuda.stream(side):
        work(x)
    assert len(unjoined()) == 1


def test_a_call_answers_for_its_own_work_only(side):
    _work_on(side)
    torch.cuda.set_stream(side)
    begin_call()
    assert torch.cuda.current_stream() == torch.cuda.default_stream()
    assert unjoined() == []


def test_a_call_that_stays_on_a_side_stream_is_missed(side):
    torch.cuda.set_stream(side)
    torch.zeros(3, device="cuda")
    assert len(unjoined()) == 1


def test_streams_nest_and_are_restored_after_errors(side):
    other = torch.cuda.Stream(priority=-1)
    with torch.cuda.stream(side):
        with other:
            assert torch.cuda.current_stream() == other
        with torch.cuda.stream(None):
            assert torch.cuda.current_stream() == side
        with pytest.raises(ZeroDivisionError), torch.cuda.StreamContext(other):
            raise ZeroDivisionError
        assert torch.cuda.current_stream() == side
    assert torch.cuda.current_stream().cuda_stream == 0


def test_streams_compare_and_go_by_their_handle(side):
    assert side != torch.cuda.Stream()
    assert len({side, torch.cuda.ExternalStream(side.cuda_stream)}) == 1
    _work_on(torch.cuda.ExternalStream(side.cuda_stream))
    assert len(unjoined()) == 1
    torch.cuda.current_stream().wait_stream(side)
    assert unjoined() == []


def test_the_general_names_work_too():
    stream = torch.Stream(device="cuda")
    assert isinstance(torch.cuda.Stream(), torch.Stream)
    with stream:
        torch.ones(2, device="cuda")
    assert len(unjoined()) == 1
    event = torch.Event("cuda", enable_timing=True)
    event.record(stream)
    event.synchronize()
    assert unjoined() == []
    assert torch.cuda.Stream.priority_range()[0] == 0


def test_warming_up_as_pytorch_documents_it_is_waited_for():
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            torch.randn(4, 4, device="cuda") @ torch.randn(4, 4, device="cuda")
    torch.cuda.current_stream().wait_stream(side)
    assert unjoined() == []


def test_the_account_outlives_a_block(side):
    with pretend_cuda():
        _work_on(side)
    assert len(streams.unjoined()) == 1
