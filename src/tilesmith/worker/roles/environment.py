"""What a result depends on: versions, device and driver."""

from __future__ import annotations

import platform
from dataclasses import replace
from typing import Any

import torch
import triton

import tilesmith
from tilesmith.process.protocol.reference import Environment
from tilesmith.tasks.gpu_estimate import DriverProperties


def describe_environment(device: str) -> Environment:
    known = Environment(
        tilesmith=tilesmith.__version__,
        python=platform.python_version(),
        torch=torch.__version__,
        triton=triton.__version__,
        device="CPU (Triton interpreter)",
    )
    if device != "cuda":
        return known
    properties = torch.cuda.get_device_properties(0)
    return replace(
        known,
        device=properties.name,
        cuda=torch.version.cuda,
        multiprocessors=properties.multi_processor_count,
        memory_bytes=properties.total_memory,
        l2_bytes=getattr(properties, "L2_cache_size", 0),
        capability=f"sm_{properties.major}{properties.minor}",
        driver=_driver_properties(properties),
    )


def _driver_properties(properties: Any) -> DriverProperties:
    """What the roofline of a GPU outside our table is estimated from."""
    return DriverProperties(
        name=properties.name,
        capability=(properties.major, properties.minor),
        multiprocessors=properties.multi_processor_count,
        clock_khz=getattr(properties, "clock_rate", 0),
        memory_clock_khz=getattr(properties, "memory_clock_rate", 0),
        bus_bits=getattr(properties, "memory_bus_width", 0),
        l2_bytes=getattr(properties, "L2_cache_size", 0),
        shared_bytes_per_block=getattr(properties, "shared_memory_per_block_optin", 0),
    )
