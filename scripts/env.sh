# Sourced by the other scripts. What Open MPI needs to start more ranks than there are CPUs, and to start as
# root inside a container; other MPIs ignore these names.
export OMPI_ALLOW_RUN_AS_ROOT=1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_btl_vader_single_copy_mechanism=none  # containers forbid reading another process's memory
export OMPI_MCA_mpi_yield_when_idle=1  # a rank that waits lets others use its CPU
export OMPI_MCA_btl_vader_max_send_size=131072  # large messages in fewer pieces: twice as fast between ranks of a node
