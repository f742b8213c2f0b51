#!/usr/bin/env bash
# Starts this pod's part of Ray, once its node has been looked at. Written by openrecipes from
# launch/kubernetes_node.sh.j2. KubeRay gives the command of `ray start` in KUBERAY_GEN_RAY_START_CMD, and waits
# until every pod is ready before it starts entry.sh on the head.
# shellcheck disable=SC2016  # values of a recipe stay as they are: a dollar in them is a dollar
set -u

here=/openrecipes
# One directory a run, the same for all of its pods, on the shared volume.
POD_RUN_DIR=/fsx/runs/"$OPENRECIPES_RAY_CLUSTER"
export POD_RUN_DIR
mkdir -p -- "$POD_RUN_DIR/log" "$POD_RUN_DIR/preflight" "$POD_RUN_DIR/telemetry" || exit 2

ulimit -c 0
ulimit -n 1048576 2>/dev/null || ulimit -n "$(ulimit -Hn)"
ulimit -l unlimited 2>/dev/null

# References to NVLink in the topology: 0 without NVLink, and without GPUs.
NVLINK_COUNT=$(nvidia-smi topo -m 2>/dev/null | grep -Eow 'NV[0-9]+' | wc -l | tr -d ' ')
export NVLINK_COUNT
if ! value=$(env PYTHONUNBUFFERED=1 RAY_DEDUP_LOGS=0 RAY_COLOR_PREFIX=0 FI_PROVIDER=efa 'NCCL_SOCKET_IFNAME=^lo,docker,veth,eni' SLIME_DIR=/root/slime MEGATRON_DIR=/root/Megatron-LM CUDA_DEVICE_MAX_CONNECTIONS=1 PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True TORCHINDUCTOR_COMPILE_THREADS=1 PYTHONPATH=/openrecipes:/root/Megatron-LM:/root/slime "$BASH" -c 'if [ "$NVLINK_COUNT" -gt 0 ]; then echo 1; else echo 0; fi'); then
  printf 'openrecipes: the value of %s cannot be evaluated on this node\n' NCCL_NVLS_ENABLE >&2
  exit 2
fi
export NCCL_NVLS_ENABLE="$value"

# A report, and no verdict: entry.sh reads all nodes' together, and ends the job where one fails.
python3 "$here/preflight.py" --report-only -o "$POD_RUN_DIR/preflight/$HOSTNAME.json" --fabric efa --devices 16 --hugepages 1 --port 6379 --port 8265 --port 10001 --port 8080 --pin ray=2.60.0 --gpus 8 --gpu H200 --memory-mib 143771 --nvlinks 18 --driver-at-least 525.60.13 --cpus 10 --memory-gib 64 --port-range 20000-21000 --pin torch=2.11.0 --pin transformer-engine=2.10.0 --pin deep-ep=1.2.1 --pin nccl=2.28.9 --pin cuda=12.9 --pin python=3.12 --commit /root/slime=a897e1f --commit /root/Megatron-LM=1dcf0daf --disk /tmp=50 --disk /fsx/runs=10 --file /fsx/data/qwen35-tulu3-fixed8192-v1.parquet --rows /fsx/data/qwen35-tulu3-fixed8192-v1.parquet --checkpoint /fsx/checkpoints/Qwen3.5-397B-A17B_torch_dist=6d93c282bf8966cd92e8eefc73656a77e4b14f760d1d6b35bcf71e7da46bf84b --tokenizer /fsx/checkpoints/Qwen3.5-397B-A17B=5f9e4d4901a92b997e463c1f46055088b6cca5ca61a6522d1b9f64c4bb81cb42 --load --node-bus-gb 300 \
  --variable NCCL_NVLS_ENABLE ||
  echo "openrecipes: this node's preflight gave no report" >&2
python3 "$here/telemetry.py" "$POD_RUN_DIR/telemetry" --parent "$$" &

# shellcheck disable=SC2086  # KubeRay's command line, made to be split into words
exec $KUBERAY_GEN_RAY_START_CMD
