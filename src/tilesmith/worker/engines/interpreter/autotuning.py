"""@triton.autotune without a clock: the caller says which configuration runs.

On a GPU the first call with new keys runs the kernel many times to time it, so a kernel that
accumulates without reset_to_zero or restore_value gives a wrong first result. One rehearsal
of the chosen configuration, with the hooks that tuning calls, shows the same here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilesmith.worker.compat.patches import Replacement, replace
from tilesmith.worker.compat.triton_names import Autotuner
from tilesmith.worker.fake_cuda.streams import forbid_while_capturing

if TYPE_CHECKING:
    from tilesmith.worker.engines.interpreter.interpreter import InterpreterEngine


def bind_autotuner(interpreter: InterpreterEngine) -> None:
    """Replace the timing of configurations by a choice."""

    def run(tuner: Any, /, *args: Any, **kwargs: Any) -> Any:
        return _run(interpreter, tuner, args, kwargs)

    replace([Replacement(Autotuner, "run", run)])


def _run(interpreter: InterpreterEngine, tuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
    configs = tuner.prune_configs(kwargs) if len(tuner.configs) > 1 else tuner.configs
    if not configs:
        raise ValueError("autotune: no configuration is left after pruning")
    interpreter.autotuned = len(configs)
    config = configs[interpreter.autotune_choice % len(configs)]
    clashes = kwargs.keys() & config.kwargs.keys()
    if clashes:
        raise ValueError(f"{sorted(clashes)[0]} is given both at the launch and by an autotune configuration")
    settings = {**kwargs, **config.all_kwargs()}
    full = {**tuner.nargs, **settings}
    if len(configs) > 1 and not kwargs.get("warmup"):
        _rehearse(interpreter, tuner, config, args, settings, full)
    tuner.best_config = config
    if config.pre_hook is not None:
        config.pre_hook(full)
    return tuner.fn.run(*args, **settings)


def _rehearse(
    interpreter: InterpreterEngine,
    tuner: Any,
    config: Any,
    args: Any,
    settings: dict[str, Any],
    full: dict[str, Any],
) -> None:
    """What tuning does to the arguments, the first time that these keys are seen."""
    key = _key(tuner, full)
    if key in tuner.cache:
        return
    forbid_while_capturing()  # timing waits for the GPU
    tuner.cache[key] = config
    if interpreter.rehearse_autotune:
        if config.pre_hook is not None:
            config.pre_hook(full)
        tuner.pre_hook(full)
        with interpreter.unrecorded():
            tuner.fn.run(*args, **settings)
        tuner.post_hook(full, exception=None)
    tuner.pre_hook(full, reset_only=True)


def _key(tuner: Any, full: dict[str, Any]) -> tuple[Any, ...]:
    known = {name: value for name, value in full.items() if name in tuner.arg_names}
    dtypes = [str(value.dtype) for value in known.values() if hasattr(value, "dtype")]
    keys = getattr(tuner, "keys", None) or []
    return tuple([known[name] for name in keys if name in known] + dtypes)
