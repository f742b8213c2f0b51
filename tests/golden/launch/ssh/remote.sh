#!/usr/bin/env bash
# What ssh starts on a host: the node script, for as long as standard input stays open. Written by openrecipes from
# launch/remote.sh.j2.
#
#   bash remote.sh FOLDER INDEX NODES [HEAD RAY_DIR]      standard input: `NAME BASE64` lines for secrets, a line `.`
#   bash remote.sh FOLDER --collect                       what the run left here, as a tar on standard output
# shellcheck disable=SC2016,SC2317  # a dollar in a recipe's value stays a dollar; traps call what nothing else calls
set -u

# Starts again without the submitter's environment. Only these variables come along.
if [ "${1-}" = --clean ]; then
  shift
else
  kept=()
  for name in PATH HOME USER LANG LC_ALL TZ TMPDIR VIRTUAL_ENV CUDA_VISIBLE_DEVICES XDG_CACHE_HOME HF_TOKEN; do
    if [ -n "${!name+set}" ]; then kept+=("$name=${!name}"); fi
  done
  exec env -i ${kept[@]+"${kept[@]}"} "$BASH" "$0" --clean "$@"
fi

RUN_DIR=$1 index=$2
cd -- "$RUN_DIR" || exit 2
here=$RUN_DIR/rendered
if [ "$index" = --collect ]; then
  left=()
  for path in * .[!.]*; do
    case "$path" in
      rendered | data | '*' | '.[!.]*') ;;
      *) left+=("$path") ;;
    esac
  done
  exec tar -cf - ${left[@]+"${left[@]}"} --files-from /dev/null
fi

exec 3<&0 </dev/null
while IFS=' ' read -r name value <&3 && [ "$name" != . ]; do
  export "$name=$(printf '%s' "$value" | base64 -d)"
done
export OPENRECIPES_RUN_DIR="$RUN_DIR"
mkdir -p log || exit 2
# Without the client nobody reads what is written here; that is no reason to end half-way.
trap '' PIPE

# The container that node.sh runs in, by a name of its own; the image's environment, and of ours only what is named.
container_name=openrecipes-$$-${RANDOM}
enter=(docker run --rm --init --name "$container_name" --network=host --ipc=host --gpus=all \
  --ulimit memlock=-1 --ulimit nofile=1048576 --cap-add=IPC_LOCK --cap-add=SYS_PTRACE \
  --device=/dev/infiniband \
  --device=/dev/gdrdrv \
  --env OPENRECIPES_RUN_DIR --env HF_TOKEN \
  --volume "$RUN_DIR:$RUN_DIR" --volume "$here:$here" \
  --volume /fsx:/fsx openrecipes-train@sha256:0000000000000000000000000000000000000000000000000000000000000000)
${enter[@]+"${enter[@]}"} bash "$here/node.sh" "$RUN_DIR" "$3" "$index" "${@:4}" 3<&- &
child=$!
{
  cat <&3 >/dev/null
  kill -TERM "$child" 2>/dev/null
} &
guard=$!
trap 'kill -TERM "$child" 2>/dev/null' TERM INT HUP
status=143
while kill -0 "$child" 2>/dev/null; do
  wait "$child"
  status=$?
done
kill -TERM "$guard" 2>/dev/null
docker rm --force "$container_name" >/dev/null 2>&1
echo "$status" >"log/exit-$index"
exit "$status"
