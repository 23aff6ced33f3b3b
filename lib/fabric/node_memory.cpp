#include "fabric/node_memory.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric/communicator.hpp"

namespace wafer::fabric {

using mesh::Rank;

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t most_kept = std::size_t{64} << 20;  // bytes whose pages wait in gaps to be used again

// Addresses, not memory: a rank may hold several times its share of what the node has.
std::size_t reserve(int ranks) {
  const auto memory =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::size_t bytes = std::min(memory, memory / static_cast<std::size_t>(ranks) * 4);
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0) bytes = std::min(bytes, static_cast<std::size_t>(limit.rlim_cur));
  return bytes / page * page;
}

struct File {
  explicit File(int opened) : descriptor(opened) {}
  ~File() {
    if (descriptor >= 0) close(descriptor);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int descriptor;
};

// Which file it is, so that a path cannot lead to another process's.
std::uint64_t number_of(const File& file) {
  struct stat status {};
  return file.descriptor >= 0 && fstat(file.descriptor, &status) == 0 ? status.st_ino : 0;
}

std::byte* map(const File& file, std::size_t bytes, int protection) {
  void* const memory = mmap(nullptr, bytes, protection, MAP_SHARED | MAP_NORESERVE, file.descriptor, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

bool all_of(MPI_Comm node, bool mine) {
  int all = mine ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, node), "MPI_Allreduce");
  return all != 0;
}

}  // namespace

std::shared_ptr<NodeMemory> NodeMemory::among(MPI_Comm communicator) {
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
            "MPI_Comm_split_type");
  int ranks = 1;
  check_mpi(MPI_Comm_size(node, &ranks), "MPI_Comm_size");
  std::shared_ptr<NodeMemory> memory;
  if (ranks > 1) {
    memory.reset(new NodeMemory(reserve(ranks)));
    if (!memory->map_all(communicator, node)) memory.reset();
  }
  check_mpi(MPI_Comm_free(&node), "MPI_Comm_free");
  return memory;
}

bool NodeMemory::map_all(MPI_Comm communicator, MPI_Comm node) {
  int ranks = 1, me = 0, all_ranks = 1;
  check_mpi(MPI_Comm_size(node, &ranks), "MPI_Comm_size");
  check_mpi(MPI_Comm_size(communicator, &all_ranks), "MPI_Comm_size");
  check_mpi(MPI_Comm_rank(communicator, &me), "MPI_Comm_rank");
  of_rank_.assign(static_cast<std::size_t>(all_ranks), nullptr);

  const File own(memfd_create("wafermesh", MFD_CLOEXEC));
  if (own.descriptor >= 0 && bytes_ > 0 && ftruncate(own.descriptor, static_cast<off_t>(bytes_)) == 0)
    own_ = map(own, bytes_, PROT_READ | PROT_WRITE);
  if (own_ != nullptr) gaps_[0] = bytes_;
  if (!all_of(node, own_ != nullptr)) return false;

  using Entry = std::array<std::uint64_t, 4>;  // rank, process, descriptor, number of the file
  std::vector<Entry> entries(static_cast<std::size_t>(ranks));
  const Entry mine = {static_cast<std::uint64_t>(me), static_cast<std::uint64_t>(getpid()),
                      static_cast<std::uint64_t>(own.descriptor), number_of(own)};
  check_mpi(MPI_Allgather(mine.data(), 4, MPI_UINT64_T, entries.data(), 4, MPI_UINT64_T, node),
            "MPI_Allgather");
  const bool mapped = std::all_of(entries.begin(), entries.end(), [&](const Entry& entry) {
    const auto [rank, process, descriptor, number] = entry;
    if (rank == mine[0]) return true;
    return map_peer(Rank{static_cast<int>(rank)},
                    "/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor), number);
  });
  return all_of(node, mapped);  // and only then every rank may close its file
}

bool NodeMemory::map_peer(Rank peer, const std::string& path, std::size_t number) {
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.descriptor < 0 || number_of(file) != number) return false;
  std::byte*& theirs = of_rank_[static_cast<std::size_t>(peer.value)];
  theirs = map(file, bytes_, PROT_READ);
  return theirs != nullptr;
}

NodeMemory::~NodeMemory() {
  if (own_ != nullptr) munmap(own_, bytes_);
  for (std::byte* const theirs : of_rank_)
    if (theirs != nullptr) munmap(theirs, bytes_);
}

std::byte* NodeMemory::allocate(std::size_t bytes) {
  const std::size_t needed = (bytes + page - 1) / page * page;
  const auto gap =
      std::find_if(gaps_.begin(), gaps_.end(), [&](const auto& g) { return g.second >= needed; });
  if (gap == gaps_.end()) return nullptr;
  const auto [offset, size] = *gap;
  gaps_.erase(gap);
  if (size > needed) gaps_[offset + needed] = size - needed;
  kept_ -= std::min(kept_, needed);
  return own_ + offset;
}

void NodeMemory::free(std::byte* memory, std::size_t bytes) {
  std::size_t size = (bytes + page - 1) / page * page;
  kept_ += size;
  auto offset = static_cast<std::size_t>(memory - own_);
  const auto after = gaps_.lower_bound(offset);
  if (after != gaps_.begin())
    if (const auto before = std::prev(after); before->first + before->second == offset) {
      offset = before->first;
      size += before->second;
    }
  if (after != gaps_.end() && offset + size == after->first) {
    size += after->second;
    gaps_.erase(after);
  }
  gaps_[offset] = size;
  if (kept_ <= most_kept) return;
  for (const auto& [begin, length] : gaps_) madvise(own_ + begin, length, MADV_REMOVE);
  kept_ = 0;
}

std::optional<std::size_t> NodeMemory::offset_of(const std::byte* memory) const {
  if (memory < own_ || memory >= own_ + bytes_) return std::nullopt;
  return static_cast<std::size_t>(memory - own_);
}

}  // namespace wafer::fabric
