mpirun -np 16 -H a:8,b:8 -x NCCL_DEBUG=INFO -x NCCL_DEBUG_SUBSYS=ALL -x LD_LIBRARY_PATH -x NCCL_ALGO=Ring,Trie \
   -x UCX_TLS=rc,sm -x NCCL_IB_GID_INDEX=3 ./all_reduce_perf
docker run --rm -it --gpus all --env-file ./prod.env -e NVIDIA_DRIVER_CAPABILITIES=utility img
for i in 0 1 2; do CUDA_VISIBLE_DEVICES=$i python eval.py & done
CUDA_VISIBLE_DEVICES="" python prep.py
echo 'export NCCL_P2P_DISABLE=1' >> ~/.bashrc
