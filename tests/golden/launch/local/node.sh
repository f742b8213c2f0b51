#!/usr/bin/env bash
# What one node of a run does: it looks at itself, joins the run's Ray, and on the head starts the trainer.
# Written by openrecipes from launch/node.sh.j2; the launching script starts it on every node, in the container
# if there is one.
#
#   bash node.sh RUN_DIR NODES INDEX [HEAD RAY_DIR]
#
# NODES: the nodes' names, with commas. INDEX: which of them this is, 0 for the head, - by SLURMD_NODENAME.
# HEAD and RAY_DIR: for the others, address and port of the head's Ray and its folder; HEAD - is found in the log
# of a RUN_DIR that all nodes see. Leaves in RUN_DIR on this node: log/ray-NAME.log, telemetry/; on the head also
# nodes.json, preflight/ and environment.json.
# shellcheck disable=SC2016,SC2317  # a dollar in a recipe's value stays a dollar; traps call what nothing else calls
set -u

here=$(cd -- "$(dirname -- "$0")" && pwd -P) || exit 2
RUN_DIR=$(cd -- "$1" && pwd -P) || exit 2
names=$2 index=$3 ray_dir=${5-}
IFS=, read -r -a name_list <<<"$names"
if [ "$index" = - ]; then
  for index in "${!name_list[@]}"; do
    if [ "${name_list[index]}" = "${SLURMD_NODENAME-}" ]; then break; fi
  done
fi
name=${name_list[index]}
# A trainer must not take its rank from the scheduler's variables.
for variable in "${!SLURM_@}" "${!SLURMD_@}" "${!PMI_@}" "${!PMIX_@}"; do unset "$variable"; done
mkdir -p -- "$RUN_DIR/log" || exit 2
export OPENRECIPES_RUN_DIR="$RUN_DIR" OPENRECIPES_NODE="$RUN_DIR/$index"

stage() { # NAME: for whoever follows the log
  if [ "$index" -eq 0 ]; then echo "openrecipes: stage $1"; fi
}
cause() {
  echo "openrecipes: cause: $1"
}

# What this script starts inherits OPENRECIPES_NODE, wherever it moves: into another session, to another
# parent. By that variable's value, and by nothing else, a process is ours to end.
own_mark="OPENRECIPES_NODE=$OPENRECIPES_NODE"
own_processes() {
  grep -lzxF -- "$own_mark" /proc/[0-9]*/environ 2>/dev/null | tr -cd '0-9\n'
  ray_processes
}

# A process that gives itself a title, as Ray's do, loses its environment to it; its open files tell.
own_folder= # in which only processes of ours have files open
ray_processes() {
  local pid
  if [ -n "$own_folder" ]; then
    for pid in $(find /proc/[0-9]*/fd -maxdepth 1 -lname "$own_folder/*" 2>/dev/null | cut -d / -f 3 | sort -u); do
      if [ "/proc/$pid/ns/mnt" -ef /proc/self/ns/mnt ]; then echo "$pid"; fi
    done
  fi
}

# Those of them that have not ended, each as PID:BORN. One that is ending loses its environment and its files first, and
# for seconds holds what it has of the GPU, so the eye must be kept on those that were seen before.
still_there() { # PID[:BORN]...
  local one stat
  for one in "$@"; do
    { stat=$(<"/proc/${one%%:*}/stat"); } 2>/dev/null || continue
    read -ra stat <<<"${stat##*) }" # from the state on; a name may hold anything
    case "${stat[0]}" in Z | X) continue ;; esac
    case "$one" in *:*) if [ "${one#*:}" != "${stat[19]}" ]; then continue; fi ;; esac
    echo "${one%%:*}:${stat[19]}"
  done
}

# Ends them: TERM, then KILL to what is left after 15 s, and waits as long again until they are gone.
end_own_processes() {
  local signal pid known=()
  export -n "${own_mark%%=*}" # or the tools that look would find themselves
  for signal in TERM KILL; do
    # shellcheck disable=SC2046  # numbers
    mapfile -t known < <(still_there ${known[@]+"${known[@]}"} $(own_processes) | sort -u)
    for pid in ${known[@]+"${known[@]%%:*}"}; do kill -"$signal" "$pid" 2>/dev/null; done
    # Some of Ray's are deaf to TERM; Ray itself has had its time, and has ended.
    for pid in $(ray_processes); do kill -KILL "$pid" 2>/dev/null; done
    for ((tick = 0; tick < 10 * 15; tick++)); do
      # shellcheck disable=SC2046
      mapfile -t known < <(still_there ${known[@]+"${known[@]}"} $(own_processes) | sort -u)
      if [ "${#known[@]}" -eq 0 ]; then return; fi
      sleep 0.1
    done
  done
  echo "openrecipes: killed, and still there: processes ${known[*]%%:*}"
}

ask_to_end() { # PID
  kill -TERM "$1" 2>/dev/null
}

# Ends children, all at once: TERM, and KILL where that does not help for 15 s.
end_children() { # PID...
  local pid
  for pid in "$@"; do
    if [ "$asked" != "$pid" ]; then ask_to_end "$pid"; fi
  done
  for pid in "$@"; do
    for ((tick = 0; tick < 10 * 15; tick++)); do
      kill -0 "$pid" 2>/dev/null || continue 2
      sleep 0.1
    done
    kill -KILL "$pid" 2>/dev/null
  done
}

# Runs a program as our child and waits for it; returns its exit status. A signal to this script ends the
# child, and so does the end of one `beside` it, a child that it cannot work without.
child=
asked= # the child that has been sent TERM; torchrun takes a second one for a reason to leave its ranks
beside=()
stopped_by=
run_owned() {
  local status pid lost=
  if [ -n "$stopped_by" ]; then return 143; fi
  "$@" &
  child=$!
  while [ -z "$stopped_by$lost" ] && kill -0 "$child" 2>/dev/null; do
    if [ "${#beside[@]}" -eq 0 ]; then
      wait "$child"
      continue
    fi
    wait -n "$child" "${beside[@]}"
    for pid in "${beside[@]}"; do
      kill -0 "$pid" 2>/dev/null || lost=$pid
    done
  done
  if kill -0 "$child" 2>/dev/null; then
    if [ -n "$lost" ] && [ -z "$stopped_by" ]; then
      echo "openrecipes: the process beside this one has ended, so it ends too" >&2
    else
      lost=
    fi
    end_children "$child"
  else
    lost=
  fi
  wait "$child"
  status=$?
  child=
  if [ -n "$lost" ] && [ "$status" -eq 0 ]; then status=1; fi
  return "$status"
}

on_signal() {
  stopped_by=${stopped_by:-$1}
  if [ "$(type -t before_end)" = function ]; then before_end; fi
  if [ -n "$child" ] && [ "$asked" != "$child" ]; then
    asked=$child
    ask_to_end "$child"
  fi
}

finish() {
  local status=$? signal=
  trap '' TERM INT HUP
  trap - EXIT
  end_children ${beside[@]+"${beside[@]}"}
  end_own_processes
  case "$stopped_by" in
    TERM) status=143 ;;
    INT) status=130 ;;
    HUP) status=129 ;;
  esac
  signal=$stopped_by
  if [ "$(type -t clean_up)" = function ]; then clean_up "$status"; fi
  if [ "$(type -t record_end)" = function ]; then record_end "$status" "$signal"; fi
  if [ -n "$stopped_by" ] && [ -n "${ends_when_asked-}" ]; then status=0; fi
  exit "$status"
}

# From here on, whatever ends this script ends what it started.
finish_at_the_end() {
  trap finish EXIT
  trap 'on_signal TERM' TERM
  trap 'on_signal INT' INT
  trap 'on_signal HUP' HUP
}

# To srun, one node that ends with an error is a reason to kill the others at once.
if [ "$index" -gt 0 ]; then ends_when_asked=1; fi
finish_at_the_end

SLIME_DIR=/root/slime
MEGATRON_DIR=/root/Megatron-LM
HF_CKPT=/data/checkpoints/Qwen3.5-35B-A3B
TORCH_DIST=/data/checkpoints/Qwen3.5-35B-A3B_torch_dist
SFT_DATA=/data/rows.parquet
# The job's environment, given to each program that is started: no name of it can meet one of this script.
environment=(
  PYTHONUNBUFFERED=1
  RAY_DEDUP_LOGS=0
  RAY_COLOR_PREFIX=0
  SLIME_DIR=/root/slime
  MEGATRON_DIR=/root/Megatron-LM
  CUDA_DEVICE_MAX_CONNECTIONS=1
  PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
  TORCHINDUCTOR_COMPILE_THREADS=1
)
# References to NVLink in the topology: 0 without NVLink, and without GPUs.
NVLINK_COUNT=$(nvidia-smi topo -m 2>/dev/null | grep -Eow 'NV[0-9]+' | wc -l | tr -d ' ')
if ! value=$(env "${environment[@]}" NVLINK_COUNT="$NVLINK_COUNT" "$BASH" -c 'if [ "$NVLINK_COUNT" -gt 0 ]; then echo 1; else echo 0; fi'); then
  printf 'openrecipes: the value of %s cannot be evaluated on this node\n' NCCL_NVLS_ENABLE >&2
  exit 2
fi
environment+=(NCCL_NVLS_ENABLE="$value")
environment+=(PYTHONPATH="$here":"$MEGATRON_DIR":"$SLIME_DIR""${PYTHONPATH:+:$PYTHONPATH}")
arguments=(
  --actor-num-nodes 1
  --actor-num-gpus-per-node 2
  --num-gpus-per-node 2
  --spec slime_plugins.models.qwen3_5 get_qwen3_5_spec
  --num-layers 4
  --hidden-size 1024
  --ffn-hidden-size 512
  --group-query-attention
  --num-attention-heads 8
  --num-query-groups 2
  --kv-channels 256
  --qk-layernorm
  --attention-output-gate
  --use-gated-attention
  --disable-bias-linear
  --normalization RMSNorm
  --apply-layernorm-1p
  --norm-epsilon 1e-6
  --position-embedding-type rope
  --rotary-percent 0.25
  --rotary-base 10000000
  --swiglu
  --untie-embeddings-and-output-weights
  --vocab-size 248320
  --num-experts 32
  --moe-router-topk 4
  --moe-ffn-hidden-size 512
  --moe-shared-expert-intermediate-size 512
  --moe-shared-expert-gate
  --moe-layer-freq '[1]*4'
  --moe-router-score-function softmax
  --moe-router-dtype fp32
  --moe-aux-loss-coeff 0
  --moe-token-drop-policy probs
  --moe-grouped-gemm
  --moe-permute-fusion
  --moe-token-dispatcher-type alltoall
  --hf-checkpoint "$HF_CKPT"
  --ref-load "$TORCH_DIST"
  --rollout-function-path pretokenized_sft_rollout.generate_rollout
  --prompt-data "$SFT_DATA"
  --input-key messages
  --metadata-key metadata
  --num-rollout 14
  --rollout-batch-size 4
  --global-batch-size 4
  --loss-type sft_loss
  --calculate-per-token-loss
  --disable-compute-advantages-and-returns
  --debug-train-only
  --tensor-model-parallel-size 2
  --pipeline-model-parallel-size 1
  --context-parallel-size 1
  --expert-model-parallel-size 2
  --expert-tensor-parallel-size 1
  --sequence-parallel
  --recompute-granularity full
  --recompute-method uniform
  --recompute-num-layers 1
  --use-dynamic-batch-size
  --max-tokens-per-gpu 8192
  --data-pad-size-multiplier 256
  --optimizer adam
  --lr 1e-5
  --lr-decay-style cosine
  --min-lr 1e-6
  --lr-warmup-fraction 0.1
  --weight-decay 0.1
  --adam-beta1 0.9
  --adam-beta2 0.98
  --use-distributed-optimizer
  --use-precision-aware-optimizer
  --attention-dropout 0.0
  --hidden-dropout 0.0
  --accumulate-allreduce-grads-in-fp32
  --attention-softmax-in-fp32
  --attention-backend flash
  --distributed-timeout-minutes 30
)

# RDMA registers memory, every rank opens many files, and a core file of a rank is its whole memory.
ulimit -c 0
ulimit -l unlimited 2>/dev/null
ulimit -n 1048576 2>/dev/null || ulimit -n "$(ulimit -Hn)"

# On this node and short: a socket's path holds 107 bytes.
node_dir=$(mktemp -d /tmp/openrecipes-XXXXXX) || exit 2
export OPENRECIPES_NODE_DIR="$node_dir"
if [ -z "$ray_dir" ]; then ray_dir=$node_dir; fi # Ray has one path for its files, the head's, on every node
own_folder=$ray_dir
clean_up() { # EXIT_STATUS
  if [ "$1" -ne 0 ] && [ -d "$ray_dir/session_latest/logs" ]; then
    mkdir -p -- "$RUN_DIR/log/ray" && cp -RL "$ray_dir/session_latest/logs" "$RUN_DIR/log/ray/$name" 2>/dev/null
  fi
  rm -rf -- "$node_dir" "$ray_dir"
}
# Before a signal ends the trainer: where each of its processes stands, if py-spy is at hand.
before_end() {
  local pid
  if [ -n "${dumped-}" ] || ! command -v py-spy >/dev/null; then return; fi
  dumped=1
  for pid in $(own_processes); do
    case "$(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline")" in
      ray::* | *python*train*) timeout 5 py-spy dump --nonblocking --pid "$pid" & ;;
    esac
  done >>"$RUN_DIR/log/stacks-$name.txt" 2>&1
  sleep 2
}

mkdir -p -- "$RUN_DIR/telemetry"
env "${environment[@]}" /opt/venv/bin/python "$here/telemetry.py" "$RUN_DIR/telemetry" --parent "$$" >/dev/null 2>&1 &
# Ray of this run alone: own address, ports and folder. Another Ray on this machine is neither used nor ended.
node_ip=$(env "${environment[@]}" /opt/venv/bin/python "$here/node_network.py" address) || exit 2
ports=$(env "${environment[@]}" /opt/venv/bin/python "$here/node_network.py" ports 4) || exit 2
read -r client agent agent_grpc metrics <<<"$ports"
# slime takes a CPU for each GPU and two more; Ray only counts them.
cpus=$(nproc)
if [ "$cpus" -lt 4 ]; then cpus=4; fi

# Ray in the foreground, with everything that it starts ours to end. One that could not start (its node manager
# has 30 s) is started again; one that was up and ended is not, since training does not come back with it.
ray_node() { # OPTION...
  local pid='' status=1
  trap 'if [ -n "$pid" ]; then kill -TERM "$pid" 2>/dev/null; fi; attempt=3' TERM
  for ((attempt = 1; attempt <= 3; attempt++)); do
    # A newer Ray would use up our grace to drain a node of which nothing is wanted any more.
    # Nor may a driver wait until a worker for each CPU is up: where one of them fails to start, that wait has no end.
    env "${environment[@]}" RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S=0 RAY_prestart_worker_first_driver=0 /opt/venv/bin/python -m ray.scripts.scripts start --block --disable-usage-stats \
      --node-ip-address="$node_ip" --num-gpus=2 --num-cpus="$cpus" \
      --resources="{\"openrecipes_node_$index\": 1}" --dashboard-agent-listen-port="$agent" \
      --dashboard-agent-grpc-port="$agent_grpc" --metrics-export-port="$metrics" "$@" >>"$RUN_DIR/log/ray-$name.log" 2>&1 &
    pid=$!
    while kill -0 "$pid" 2>/dev/null; do
      wait "$pid"
      status=$?
    done
    if grep -q 'Ray runtime started' "$RUN_DIR/log/ray-$name.log"; then break; fi
  done
  return "$status"
}

port=$(env "${environment[@]}" /opt/venv/bin/python "$here/node_network.py" ports 1) || exit 2
environment+=(RAY_ADDRESS="$node_ip:$port")
# A Ray with grpc also serves remote clients, by default on one fixed port; one without refuses the option.
client_port=()
if env "${environment[@]}" /opt/venv/bin/python -c 'import grpc' 2>/dev/null; then client_port=(--ray-client-server-port="$client"); fi
ray_node --head --include-dashboard=false --port="$port" --temp-dir="$node_dir" ${client_port[@]+"${client_port[@]}"} &
beside+=("$!")
ray_pid=$!
ended_on_head() { # STATUS
  if [ -n "$stopped_by" ]; then exit "$1"; fi
  if ! kill -0 "$ray_pid" 2>/dev/null; then
    cause "Ray ended on the head, see log/ray-$name.log"
  elif [ "$1" -eq 124 ] || [ "$1" -eq 137 ]; then
    cause "Ray on the head took a connection and never answered, see log/ray-$name.log"
  fi
  exit "$1"
}
# Joining a Ray that takes the connection and does not answer blocks inside Ray, without a limit of its own.
in_time=(timeout --kill-after=5 330)
stage joining
echo "openrecipes: head $node_ip:$port $node_dir"
# slime waits for missing GPUs without limit, so the bound is ours.
run_owned "${in_time[@]}" env "${environment[@]}" /opt/venv/bin/python "$here/ray_cluster.py" wait --address "$node_ip:$port" \
  --nodes 1 --gpus 2 --names "$names" --within 300 || ended_on_head $?

run_owned env "${environment[@]}" /opt/venv/bin/python "$here/capture_environment.py" -o "$RUN_DIR/environment.json" \
  --variable PYTHONUNBUFFERED \
  --variable RAY_DEDUP_LOGS \
  --variable RAY_COLOR_PREFIX \
  --variable CUDA_DEVICE_MAX_CONNECTIONS \
  --variable PYTORCH_CUDA_ALLOC_CONF \
  --variable TORCHINDUCTOR_COMPILE_THREADS \
  --variable NCCL_NVLS_ENABLE ||
  echo "openrecipes: the environment could not be captured" >&2
# A checkpoint that `checkpoint prepare` made says whether its weights are random; a result must say so too.
if [ -f "${TORCH_DIST-}/openrecipes-checkpoint.json" ]; then
  cp -- "$TORCH_DIST/openrecipes-checkpoint.json" "$RUN_DIR/checkpoint.json"
fi
stage loading

cd -- "$SLIME_DIR" || exit 2
run_owned env "${environment[@]}" /opt/venv/bin/python train_async.py "${arguments[@]}"
status=$?
if [ -z "$stopped_by" ] && ! kill -0 "$ray_pid" 2>/dev/null; then cause "Ray ended on the head, see log/ray-$name.log"; fi
exit "$status"
