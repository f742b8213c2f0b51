clock_log &
log_clock=$!
watch_steps &
beside+=("$!")

SLIME_DIR=/root/slime
HF_CKPT=/fsx/checkpoints/Qwen3.5-397B-A17B
TORCH_DIST=/fsx/checkpoints/Qwen3.5-397B-A17B_torch_dist
SFT_DATA=/fsx/data/qwen35-tulu3-fixed8192-v1.parquet
arguments=(
  --actor-num-nodes 16
  --actor-num-gpus-per-node 8
  --spec slime_plugins.models.qwen3_5 get_qwen3_5_spec
  --num-layers 60
  --hidden-size 4096
  --ffn-hidden-size 1024
  --group-query-attention
  --num-attention-heads 32
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
  --num-experts 512
  --moe-router-topk 10
  --moe-ffn-hidden-size 1024
  --moe-shared-expert-intermediate-size 1024
  --moe-shared-expert-gate
  --moe-layer-freq '[1]*60'
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
  --rollout-batch-size 128
  --global-batch-size 128
  --loss-type sft_loss
  --calculate-per-token-loss
  --disable-compute-advantages-and-returns
  --debug-train-only
  --tensor-model-parallel-size 2
  --pipeline-model-parallel-size 4
  --context-parallel-size 1
  --expert-model-parallel-size 32
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

echo "openrecipes: stage joining"
# slime waits for missing GPUs without limit, so the bound is ours.
run_owned python3 "$here/ray_cluster.py" wait --address auto --nodes 16 --gpus 128 \
  --within 600 || exit

echo "openrecipes: stage preflight"
run_owned python3 "$here/preflight_between.py" "$RUN_DIR/preflight" --most-skew 1 --load --gpus 8 --group 32 --alltoall-bytes 335544320
if ! run_owned python3 "$here/preflight_verdict.py" "$RUN_DIR/preflight" --nodes 16 --within 600 --blocks \
  -o "$RUN_DIR/preflight.json"; then
  exit 1
fi
run_owned env OPENRECIPES_IMAGE=openrecipes-train@sha256:0000000000000000000000000000000000000000000000000000000000000000 python3 "$here/capture_environment.py" -o "$RUN_DIR/environment.json" \
  --variable PYTHONUNBUFFERED \
  --variable RAY_DEDUP_LOGS \
  --variable RAY_COLOR_PREFIX \
  --variable FI_PROVIDER \
  --variable NCCL_SOCKET_IFNAME \
  --variable CUDA_DEVICE_MAX_CONNECTIONS \
  --variable PYTORCH_CUDA_ALLOC_CONF \
  --variable TORCHINDUCTOR_COMPILE_THREADS \
  --variable NCCL_NVLS_ENABLE ||
  echo "openrecipes: the environment could not be captured" >&2
# A checkpoint that `checkpoint prepare` made says whether its weights are random; a result must say so too.
if [ -f "${TORCH_DIST-}/openrecipes-checkpoint.json" ]; then
  cp -- "$TORCH_DIST/openrecipes-checkpoint.json" "$RUN_DIR/checkpoint.json"
fi

echo "openrecipes: stage loading"
cd -- "$SLIME_DIR" || exit 2
run_owned python3 train_async.py "${arguments[@]}"
