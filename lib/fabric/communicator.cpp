#include "fabric/communicator.hpp"

#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

namespace wafer::fabric {

namespace {

std::string describe(const char* call, int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  return std::string(call) + ": " + std::string(text, static_cast<std::size_t>(length));
}

// Open MPI spins while it waits. With more local ranks than CPUs each spinning rank holds up a working one: a
// 16 KB all-reduce of 4 ranks on 2 CPUs took 21 ms spinning and 33 us yielding.
void yield_when_oversubscribed() {
  const char* local = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  if (local == nullptr) return;
  const unsigned cpus = std::thread::hardware_concurrency();
  if (cpus != 0 && std::strtoul(local, nullptr, 10) > cpus) setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
}

}  // namespace

MpiError::MpiError(const char* call, int error) : std::runtime_error(describe(call, error)), code(error) {}

void check_mpi(int code, const char* call) {
  if (code != MPI_SUCCESS) throw MpiError(call, code);
}

Session::Session(int& argc, char**& argv) {
  yield_when_oversubscribed();
  int provided = 0;
  check_mpi(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

Session::~Session() { MPI_Finalize(); }

Communicator::Communicator(MPI_Comm comm, bool owned) : comm_(comm), owned_(owned) {
  check_mpi(MPI_Comm_rank(comm_, &rank_.value), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
  if (size_ > 1) node_ = NodeMemory::among(comm_);
}

Communicator Communicator::world() { return {MPI_COMM_WORLD, false}; }

Communicator::Communicator(Communicator&& other) noexcept
    : comm_(std::exchange(other.comm_, MPI_COMM_NULL)),
      owned_(std::exchange(other.owned_, false)),
      rank_(other.rank_),
      size_(other.size_),
      node_(std::move(other.node_)) {}

Communicator& Communicator::operator=(Communicator&& other) noexcept {
  std::swap(comm_, other.comm_);
  std::swap(owned_, other.owned_);
  std::swap(rank_, other.rank_);
  std::swap(size_, other.size_);
  std::swap(node_, other.node_);
  return *this;
}

Communicator::~Communicator() {
  if (owned_) MPI_Comm_free(&comm_);
}

Communicator Communicator::split(int color, int key) const {
  MPI_Comm part = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(comm_, color, key, &part), "MPI_Comm_split");
  return {part, true};
}

std::int64_t Communicator::all_reduce(std::int64_t value, MPI_Op operation) const {
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, operation, comm_), "MPI_Allreduce");
  return value;
}

std::int64_t Communicator::max(std::int64_t value) const { return all_reduce(value, MPI_MAX); }
std::int64_t Communicator::min(std::int64_t value) const { return all_reduce(value, MPI_MIN); }
std::int64_t Communicator::sum(std::int64_t value) const { return all_reduce(value, MPI_SUM); }

double Communicator::max(double value) const {
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, comm_), "MPI_Allreduce");
  return value;
}

void Communicator::sum(std::span<double> values) const {
  check_mpi(
      MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_SUM, comm_),
      "MPI_Allreduce");
}

std::string Communicator::broadcast(const std::string& text, mesh::Rank from) const {
  const auto length = broadcast(static_cast<std::int64_t>(text.size()), from);
  std::string copy = text;
  copy.resize(static_cast<std::size_t>(length));
  check_mpi(MPI_Bcast(copy.data(), static_cast<int>(length), MPI_CHAR, from.value, comm_), "MPI_Bcast");
  return copy;
}

std::int64_t Communicator::broadcast(std::int64_t value, mesh::Rank from) const {
  check_mpi(MPI_Bcast(&value, 1, MPI_INT64_T, from.value, comm_), "MPI_Bcast");
  return value;
}

void Communicator::barrier() const {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibarrier(comm_, &request), "MPI_Ibarrier");
  int done = 0;
  while (true) {
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done != 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void abort(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::abort();
}

}  // namespace wafer::fabric
