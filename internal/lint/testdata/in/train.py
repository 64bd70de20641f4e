"""doc: os.environ["NCCL_P2P_DISABLE"] = "1" is bad"""
import os, subprocess
os.environ["CUDA_VISIBLE_DEVICES"] = 0
os.environ['PYTORCH_CUDA_ALLOC_CONF'] = "max_split_size_mb=128"
# os.environ["NCCL_IB_DISABLE"] = "1"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "maybe")
os.environ.update({"XLA_PYTHON_CLIENT_MEM_FRACTION": "90%", "TF_CPP_MIN_LOG_LEVEL": "3"})
os.environ["NCCL_DEBUG"] = "INFO" if x else "WARN"
os.environ["OMP_NUM_THREADS"] = str(8)
ray.init(runtime_env={"env_vars": {"NCCL_P2P_DISABLE": "1"}})
subprocess.run("CUDA_LAUNCH_BLOCKING=1 python a.py", shell=True)
print("set CUDA_LAUNCH_BLOCKING=1 to debug")
os.putenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0")
os.environ["XLA_FLAGS"] = ("--xla_gpu_enable_latency_hiding_scheduler=true "
    "xla_dump_to=/tmp/x")
