"""Convolutions with all pointwise work behind them in one kernel, as products of matrices that are never written.

A row is an output channel, a column a place of an image, and the sum runs over the window and the channels. Images
are copied once, channels-last and with zeros around them, so that the product reads whole pieces of memory and
tests nothing. PyTorch's float32 convolutions work in TF32. A half has as many digits, so images and filters
become halves, scaled by powers of two for nothing to overflow or vanish, and the tensor core multiplies twice as
fast. Where TF32 is not wanted, every number is two halves, and three products of them are exact to float32.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, prod

from tilesmith.playbook.graph.lowering import Lowering
from tilesmith.playbook.graph.operators import CONVOLUTIONS, is_free, is_known, operator_name
from tilesmith.playbook.graph.steps import KernelStep
from tilesmith.playbook.graph.sums.convolutions import Convolution
from tilesmith.playbook.recipe import PLAIN, Declined, KernelParts, Layout, Region, RegionText, Tuning
from tilesmith.playbook.recipes.convolutions.chains.chaining import ChainedWriter
from tilesmith.playbook.recipes.convolutions.chains.link import WHOLE_CHANNELS, Link, gives_images, may_be_taken
from tilesmith.playbook.recipes.convolutions.chains.prologue import find_source
from tilesmith.playbook.recipes.convolutions.depthwise import DepthwiseMatch
from tilesmith.playbook.recipes.convolutions.direct import DirectWriter, is_pointwise
from tilesmith.playbook.recipes.convolutions.estimates import Estimate
from tilesmith.playbook.recipes.convolutions.pooling import Pool, find_pool
from tilesmith.playbook.recipes.convolutions.statistics import MOST_COLUMNS, NormalizedWriter
from tilesmith.playbook.recipes.convolutions.tiles import ConvolutionExtent
from tilesmith.playbook.recipes.convolutions.writing import ConvolutionWriter, fuse_convolution
from tilesmith.playbook.recipes.products.tiles import HALF_TYPES, vary
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.fused_kernel import FusedKernel
from tilesmith.playbook.writing.row_parts import Statistic, find_statistics
from tilesmith.records import GpuPeaks
from tilesmith.tasks.gpus import REPRESENTATIVES, Gpu
from tilesmith.tasks.graph import Node

_LEAST_FLOPS = 1e9
"""Smaller convolutions are over before their images are copied."""
_MANY_CHANNELS = 512
"""Of a result, for which each number of an image is multiplied so often that it should be a half."""
_LEAST_REUSE = 500
"""FLOPs for each number of the images: with fewer the time goes into copying them."""


class ConvolutionsRecipe:
    name = "convolutions"

    def __init__(self, keeps_pytorch: bool = True, copies: bool | None = None) -> None:
        """`keeps_pytorch`: step aside where the library is as fast: small convolutions, bare ones of half types.
        `copies`: whether images are copied before they are convolved; None for what takes less time."""
        self._keeps_pytorch, self._copies = keeps_pytorch, copies

    def knows(self, node: Node) -> bool:
        return operator_name(node) in CONVOLUTIONS or is_known(node)

    def match(self, region: Region) -> ConvolutionsMatch | DepthwiseMatch | Declined:
        try:
            low = Lowering(region.graph, CONVOLUTIONS)
            if len(low.convolutions) != 1:
                return Declined(f"the task has {len(low.convolutions)} convolutions")
            match: ConvolutionsMatch | DepthwiseMatch = (
                DepthwiseMatch(region)
                if low.convolutions[0].is_depthwise
                else ConvolutionsMatch(region, copies_images=self._copies)
            )
            if self._keeps_pytorch and (reason := match.why_not()):
                return Declined(f"the task convolves {reason}")
            match.write(match.tunings[0])
        except Unmatched as reason:
            return Declined(f"the task {reason}")
        return match


@dataclass(frozen=True)
class ConvolutionsMatch:
    region: Region
    layout: Layout = PLAIN
    copies_images: bool | None = None
    kernel_type = "convolution"
    is_worth_it = True

    @cached_property
    def _pool(self) -> Pool | None:
        return find_pool(self.region.graph)

    @cached_property
    def _fused(self) -> FusedKernel:
        fused = fuse_convolution(self.region) if self._pool is None else self._fused_with(self._pool)
        if fused.inner is not None:
            given = {name for name, step in fused.low.values.items() if step is find_source(fused.inner)}
            is_whole = find_source(fused.inner).form.shape[1] % WHOLE_CHANNELS == 0
            may_be = self._may_be_chained(fused.low.convolutions[0]) and not find_statistics(fused.placer.values)
            if not given & self.region.convolved or not is_whole or not may_be:
                raise Unmatched("convolves what it computes itself")
        return fused

    def _fused_with(self, pool: Pool) -> FusedKernel:
        fused = fuse_convolution(replace(self.region, graph=pool.before), f"{pool.kind}_pool")
        (convolution,) = fused.low.convolutions
        reduces = find_statistics(fused.placer.values)
        if reduces or not self._may_be_chained(convolution) or not gives_images(fused, convolution):
            raise Unmatched(
                "pools a transposed convolution, groups, statistics, or what is not multiplied as halves"
            )
        return fused

    @property
    def _source(self) -> KernelStep:
        """What is read: the images that are convolved, or what they are computed of."""
        return find_source(self._fused.inner) if self._fused.inner else self._convolution.images

    @cached_property
    def widest(self) -> Layout:
        """Images with whole pieces of 16 bytes for each place; results whose size is known before they are."""
        one, fused = self._convolution, self._fused
        if self._statistics or not self._may_be_chained(one) or not gives_images(fused, one):
            return PLAIN
        inputs = {given.name: fused.low.values.get(given.name) for given in fused.graph.inputs}
        images = {name: step for name, step in inputs.items() if isinstance(step, KernelStep)}
        takes = {name for name, step in images.items() if may_be_taken(fused, step, self._source)}
        shape = one.step.form.shape
        try:
            gives = shape[0] % WHOLE_CHANNELS == 0
            if gives:
                self._chained(Layout(frozenset(takes), gives)).write("")
        except Unmatched:
            gives = False
        return Layout(frozenset(takes), gives)

    @property
    def needs(self) -> frozenset[str]:
        """Images that are added to the result, for it to be known how large they are; and those that would have to
        be copied otherwise, and need not be where they lie as they are."""
        inputs = {given.name: self._fused.low.values.get(given.name) for given in self._fused.graph.inputs}
        known = [*self._fused.loaded, *([self._source] if self._is_of_places else [])]
        return frozenset(name for name, step in inputs.items() if step in known)

    @property
    def copies(self) -> frozenset[str]:
        found = {name for name, step in self._fused.low.values.items() if step is self._source}
        return frozenset(found & self.needs)

    def gains(self, layout: Layout) -> bool:
        """Whether it was not taken for images that it is not given after all."""
        given = {name for name, step in self._fused.low.values.items() if step is self._source}
        return bool(given & layout.takes or not given & self.region.convolved) or not self._why_not_alone()

    def shared(self, given: Mapping[str, int]) -> int:
        return 0

    def laid_out(self, layout: Layout, taken: Collection[str] = ()) -> ConvolutionsMatch:
        if layout == self.layout and not taken:
            return self
        region = replace(self.region, taken=self.region.taken | set(taken)) if taken else self.region
        return replace(self, region=region, layout=layout)

    @cached_property
    def _convolution(self) -> Convolution:
        return self._fused.low.convolutions[0]

    @property
    def name(self) -> str:
        return self._fused.name

    @property
    def _halves(self) -> int:
        """How many a float32 number is; 0 where numbers are halves already."""
        return self._halves_of(self._convolution)

    def _halves_of(self, convolution: Convolution) -> int:
        if convolution.images.dtype in HALF_TYPES:
            return 0
        return 2 if self.region.survey.environment.get("precision") == "ieee" else 1

    def _may_be_chained(self, convolution: Convolution) -> bool:
        return convolution.is_plain and self._halves_of(convolution) == 1

    @cached_property
    def _is_direct(self) -> bool:
        """Whether images are read where they lie."""
        if self._is_chained or self._convolution.is_transposed:
            return False
        if self.copies_images is not None and not self._is_of_places:
            return not self.copies_images
        is_faster = self._estimate.direct() < self._estimate.padded()
        return self._is_of_places or is_faster or not self._is_worth_copying

    @property
    def _is_worth_copying(self) -> bool:
        """Whether much is done with each number of an image."""
        flops = self._estimate.flops
        return flops >= max(_LEAST_FLOPS, _LEAST_REUSE * prod(self._convolution.images.form.shape))

    @property
    def _is_of_places(self) -> bool:
        """Whether windows are of one place, for not too many output channels."""
        few = self._halves == 0 or self._convolution.rows < _MANY_CHANNELS
        return is_pointwise(self._convolution) and few

    @cached_property
    def _estimate(self) -> Estimate:
        extent = self._extent_of(is_direct=True)
        height, width = (extent.tunings()[0][name] for name in ("BLOCK_M", "BLOCK_N"))
        gpu: GpuPeaks | Gpu = self.region.survey.gpu or REPRESENTATIVES["sm_90"]
        return Estimate(self._fused, self._convolution, self._halves, gpu, height, extent.tiles(height, width))

    @property
    def _is_chained(self) -> bool:
        return self._pool is not None or self._fused.inner is not None or self.layout != PLAIN

    @cached_property
    def _extent(self) -> ConvolutionExtent:
        return self._extent_of(self._is_direct)

    def _extent_of(self, is_direct: bool) -> ConvolutionExtent:
        gpu, one = self.region.survey.gpu, self._convolution
        return ConvolutionExtent(
            one.rows,
            prod(one.step.form.shape[1:]),
            one.channels,
            4 if is_direct and self._halves else 2 * max(1, self._halves),
            is_direct,
            gpu.shared_bytes_per_block if gpu else inf,
            bool(self._statistics) or any(len(step.form.shape) > 1 for step in self._fused.loaded),
            one.groups,
        )

    def why_not(self) -> str:
        """What the library does as well; empty where a kernel gains."""
        images, given = self._source, self.region.convolved & self.widest.takes
        is_given = any(self._fused.low.values.get(name) is images for name in given)
        return "" if is_given else self._why_not_alone()

    def _why_not_alone(self) -> str:
        one, works = self._convolution, [node for node in self.region.graph.nodes if not is_free(node)]
        bare, estimate = all(operator_name(node) in CONVOLUTIONS for node in works), self._estimate
        if self._is_direct:
            is_large = self._is_of_places and estimate.flops >= _LEAST_FLOPS
            if bare or (not is_large and estimate.direct() >= estimate.pytorch()):
                return f"with {estimate.flops / 1e9:.2g} GFLOP, which the library does as well"
            return ""
        if not self._halves and bare:
            return f"{one.images.dtype} and does nothing with it, which the library does as well"
        if self._is_worth_copying:
            return ""
        return f"with {estimate.flops / 1e9:.2g} GFLOP: too few for copying its images"

    @cached_property
    def tunings(self) -> tuple[Tuning, ...]:
        found = self._extent.tunings()
        depths = dict(self.layout.joined)
        (depth,) = {depths[name] for name in depths if self._fused.low.step(name) is self._source} or {0}
        return tuple(dict.fromkeys(one.changed("BLOCK_K", _shared_depth(one["BLOCK_K"], depth)) for one in found))

    def variations(self, tuning: Tuning, stage: str) -> tuple[Tuning, ...]:
        return vary(tuning, stage)

    @property
    def advice(self) -> tuple[str, str]:
        return self.strategy(self.tunings[0]), "smaller tiles, then the library's own convolution"

    def strategy(self, tuning: Tuning) -> str:
        told = (
            f"Tiles of {tuning['BLOCK_M']} output channels x {tuning['BLOCK_N']} places, {tuning['NUM_WARPS']} "
            f"warps, {tuning['NUM_STAGES']} stages. "
        )
        follows = "what follows is computed before anything is stored"
        if self._statistics:
            follows = (
                "each tile stores what it says about its channels, a second kernel puts that together, a third one "
                "computes what follows"
            )
        if self._is_direct:
            way = ("", ", and rounded to TF32", ", each as three bfloat16 numbers")[self._halves]
            told += f"Images are read where they lie{way}"
            return f"{told}; {follows}."
        if self.layout.gives:
            told += "The result stays in halves, channels-last, for the next convolution. "
        if self._pool:
            told += "Every tile has whole windows of the pool, which is computed before anything is stored. "
        if any(self._fused.low.step(name) is self._source for name in self.layout.takes):
            told += (
                "What is done before they are convolved is done when they are read. " if self._fused.inner else ""
            )
            return f"{told}Images come as halves, channels-last: a half has as many digits as TF32."
        told += f"{follows.capitalize()}. " if self._statistics and self._halves else ""
        told += "Images are copied channels-last with zeros around them"
        if self._halves == 0:
            return f"{told}, and {follows}."
        if self._halves == 1:
            return (
                f"{told}, as halves, each image and each filter scaled by a power of two: a half has as many "
                "digits as TF32, in which PyTorch convolves, and is multiplied twice as fast."
            )
        return (
            f"{told}. Every number is the sum of two halves after its image or filter was scaled by a power of "
            "two; three products of halves, each block added up in float32, are as exact as a float32 product."
        )

    def write(self, tuning: Tuning, prefix: str = "") -> RegionText:
        way = {0: "", 1: ", multiplied as halves", 2: ", multiplied as three products of halves"}[self._halves]
        if self._is_direct:
            way = ""
        pool = f", {self._pool.kind}_pool" if self._pool else ""
        writes = any(output.value.is_wide for output in self._fused.outputs)
        kernels = ("three kernels" if writes else "two kernels") if self._statistics else "one kernel"
        title = f"{self._fused.title}{pool} in {kernels}{way}."
        kernel = self._chained(self.layout).write(prefix) if self._is_chained else self._plain(prefix)
        text = self.strategy(tuning)
        return self._fused.text(title, text, tuning.prefixed(prefix), kernel, has_room=self.layout.gives)

    def _plain(self, prefix: str) -> KernelParts:
        one, fused = self._convolution, self._fused
        writer: ConvolutionWriter | DirectWriter = DirectWriter(fused, one, self._halves)
        if not self._is_direct:
            writer = ConvolutionWriter(fused, one, self._halves, self._extent.unit, self._keeps_filters)
        text = writer.write(prefix)
        return NormalizedWriter(fused, text).write(prefix) if self._statistics else text.alone(fused)

    @cached_property
    def _statistics(self) -> tuple[Statistic, ...]:
        """Of channels over all images, which are put together from those of tiles."""
        found = find_statistics(self._fused.placer.values)
        if found and prod(self._convolution.step.form.shape[1:]) > MOST_COLUMNS:
            raise Unmatched("reduces more places of a channel than one program puts together")
        return found

    @property
    def _keeps_filters(self) -> bool:
        owned = {parameter.name for parameter in self.region.graph.parameters}
        return any(self._fused.low.values.get(name) is self._convolution.filters for name in owned)

    def _chained(self, layout: Layout) -> ChainedWriter:
        fused = self._fused
        takes = [fused.low.step(name) for name in sorted(layout.takes)]
        joined = {fused.low.step(name): shared for name, shared in layout.joined}
        unit, keeps = self._extent.unit, self._keeps_filters
        return ChainedWriter(Link(fused, self._convolution, unit, keeps, takes, layout.gives, self._pool, joined))


def _shared_depth(depth: int, shared: int) -> int:
    """How deep a block of the sum is where so many channels in a row have the same scale."""
    return min(depth, shared) if shared in (32, 64) else depth
