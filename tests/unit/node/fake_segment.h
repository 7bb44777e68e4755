// A segment as the probe would make it, for tests.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "../../support/temporary_folder.h"
#include "margay/probe/ring.h"
#include "margay/probe/segment.h"

namespace margay::node {

// A run's directory, with room for rings.
class ScratchDirectory : public test::TemporaryFolder {
 public:
  ScratchDirectory() : TemporaryFolder("/tmp") {
    std::filesystem::create_directory(rings());
    chmod(rings().c_str(), 0700);
  }
  std::string rings() const { return path + "/rings"; }
};

class FakeSegment {
 public:
  FakeSegment(const std::string& rings, std::int64_t pid, std::uint64_t start_time)
      : path(rings + "/p" + std::to_string(pid) + "-" + std::to_string(start_time)) {
    const int fd = open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, probe::kFileBytes) != 0) std::abort();
    header = static_cast<probe::SegmentHeader*>(
        mmap(nullptr, probe::kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    close(fd);
    if (header == MAP_FAILED) std::abort();
    header->layout = probe::kLayoutVersion;
    header->header_bytes = sizeof(probe::SegmentHeader);
    header->file_bytes = probe::kFileBytes;
    header->pid = pid;
    header->start_time = start_time;
    std::strcpy(header->boot_id, "boot");
    std::strcpy(header->host, "node7");
    std::strcpy(header->command, "./app -n 3");
    std::strcpy(header->mpi, "MPICH");
    std::strcpy(header->environment[0], "4711");
    header->rank = 3;
    header->world_size = 8;
    header->flags = probe::kInitialized;
    std::strcpy(header->names[0], "Compute");
    std::strcpy(header->names[1], "MPI_Send");
    header->families[0] = 1;
    header->families[1] = 2;
    header->names_used = 2;
    for (std::uint32_t r = 0; r < probe::kRings; ++r) {
      header->rings[r].control.offset = probe::ring_offset(r);
      header->rings[r].control.capacity = probe::ring_capacity(r);
    }
    header->magic.store(probe::kMagic, std::memory_order_release);
  }
  ~FakeSegment() { munmap(header, probe::kFileBytes); }
  FakeSegment(const FakeSegment&) = delete;
  FakeSegment& operator=(const FakeSegment&) = delete;

  probe::RingWriter writer(std::uint32_t ring) {
    header->rings[ring].control.state = probe::kLive;
    probe::RingWriter w;
    w.bind(&header->rings[ring].control,
           reinterpret_cast<margay_record*>(reinterpret_cast<char*>(header) + probe::ring_offset(ring)),
           header->rings[ring].control.capacity, &header->rings[ring].sums, header);
    return w;
  }

  std::string path;
  probe::SegmentHeader* header;
};

inline margay_record record_of(std::uint8_t kind, std::uint16_t state, std::uint64_t bytes = 0) {
  return {0, bytes, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, state, kind, 0};
}

}  // namespace margay::node
