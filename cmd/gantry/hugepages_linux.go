package main

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// hugeHeap is how much of the heap gets huge pages, in bytes. That is enough for most runs.
const hugeHeap = 48 << 20

// useHugePages asks Linux to back the heap with huge pages. Where programs get these only on request, a short run
// spends up to a quarter of its time on faults for small ones. The block is memory that the heap reserves and nothing
// writes to; what is allocated afterwards takes its place.
func useHugePages() {
	block := make([]byte, hugeHeap)
	_ = unix.Madvise(block, unix.MADV_HUGEPAGE) // kernels without them refuse it
	runtime.KeepAlive(block)
	runtime.GC()
}
