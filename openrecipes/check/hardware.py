"""Rules over what the catalogue knows: model, GPU, memory, instance."""

from collections.abc import Iterator

from openrecipes.catalog.gpus import find_instance, unknown_gpu
from openrecipes.catalog.prices import default_price
from openrecipes.check.rule import Finding, Section, rule
from openrecipes.check.subject import Subject
from openrecipes.problems import nearest


@rule("model-known", Section.HARDWARE, "the model is in the catalogue, by its exact name.")
def model_known(subject: Subject) -> Iterator[Finding]:
    """A model that nothing can be derived for."""
    name, found, problem = subject.recipe.model, subject.model, subject.model_problem
    if problem is not None:
        where = f"{problem.place.file}: " if problem.place.file else ""
        yield Finding(key="model", what=f"{where}{problem.what}", mend=problem.mend)
    elif found is not None and found.name != name:
        yield Finding(key="model", what=f"{name}, but the catalogue calls it {found.name}", mend=f"write {found.name}")


@rule("gpu-known", Section.HARDWARE, "the GPU is in the catalogue.")
def gpu_known(subject: Subject) -> Iterator[Finding]:
    """A GPU without peak, memory and price."""
    if subject.gpu is None:
        what, mend = unknown_gpu(subject.recipe.gpu.type)
        yield Finding(key="gpu.type", what=what, mend=mend)


@rule("gpu-memory", Section.HARDWARE, "memory_gb is the catalogue's figure for the GPU.")
def gpu_memory(subject: Subject) -> Iterator[Finding]:
    """Another part, or the usable figure in place of the marketed one."""
    if subject.gpu is None:
        return
    fact = subject.gpu.memory_gb
    stated = None if fact is None else fact.value
    if subject.recipe.gpu.memory_gb != stated:
        yield Finding(
            key="gpu.memory_gb",
            what=f"{subject.written('gpu.memory_gb')}, but the catalogue says "
            f"{'nothing' if stated is None else f'{stated} GB'} for {subject.gpu.name}",
            mend=f"set gpu.memory_gb to {'null' if stated is None else stated}",
        )


@rule("gpu-instance", Section.HARDWARE, "the instance holds GPUs of this type.")
def gpu_instance(subject: Subject) -> Iterator[Finding]:
    """An instance of another GPU, whose price would then be charged."""
    name = subject.recipe.gpu.instance
    found = find_instance(name) if name else None
    if found and subject.gpu and found[0].name != subject.gpu.name:
        yield Finding(
            key="gpu.instance",
            what=f"{name} holds {found[0].name} GPUs, but gpu.type is {subject.gpu.name}",
            mend=_instances(subject),
        )


@rule("gpu-instance-known", Section.HARDWARE, "the instance is in the catalogue, so that $ can be derived.", "warning")
def gpu_instance_known(subject: Subject) -> Iterator[Finding]:
    """An instance without a price."""
    name = subject.recipe.gpu.instance
    if name and subject.gpu and find_instance(name) is None and default_price(name) is None:
        yield Finding(key="gpu.instance", what=f"{name} is not in the catalogue", mend=_instances(subject))


@rule("gpu-per-node", Section.HARDWARE, "per_node is at most the GPUs of the instance.")
def gpu_per_node(subject: Subject) -> Iterator[Finding]:
    """More GPUs a node than the machine has."""
    gpus = subject.recipe.gpu
    found = find_instance(gpus.instance) if gpus.instance else None
    if found and gpus.per_node > found[1].gpus.value:
        yield Finding(
            key="gpu.per_node",
            what=f"{gpus.per_node} GPUs a node, but {gpus.instance} has {found[1].gpus.value}",
            mend=f"set gpu.per_node to {found[1].gpus.value}",
        )


@rule("gpu-trainer", Section.HARDWARE, "only the smoke trainer runs on a CPU.")
def gpu_trainer(subject: Subject) -> Iterator[Finding]:
    """A trainer that needs GPUs where there are none."""
    if subject.gpu is not None and subject.gpu.kind == "cpu" and subject.recipe.trainer != "smoke":
        yield Finding(
            key="gpu.type",
            what=f"{subject.gpu.name}, but the trainer {subject.recipe.trainer} needs GPUs",
            mend="write trainer: smoke, or name a GPU",
        )


def _instances(subject: Subject) -> str:
    known = [instance.name for instance in subject.gpu.instances] if subject.gpu else []
    guess = nearest(subject.recipe.gpu.instance or "", known)
    if guess:
        return f"write {guess}, or null where no price applies"
    return f"write {' or '.join(known)}, or null where no price applies" if known else "write null: no price applies"
