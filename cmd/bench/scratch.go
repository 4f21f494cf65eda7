package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// stored is the size of all files below a folder, or of a file; 0 where there is
// none.
func stored(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		n += info.Size()
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	return n, err
}

// memoryFolder is a file system in memory, on Linux.
const memoryFolder = "/dev/shm"

// A scratch is where a run keeps registries and archives.
type scratch struct {
	dir      string
	inMemory bool
}

// newScratch makes the folder: below dir, or where that is "" in memory if
// there is room, and else in the system's folder for temporary files.
func newScratch(dir string, room int64) (scratch, error) {
	s := scratch{}
	if dir == "" {
		dir = os.TempDir()
		if hasRoom(room) {
			dir, s.inMemory = memoryFolder, true
		}
	}
	var err error
	s.dir, err = os.MkdirTemp(dir, "gantry-bench")
	return s, err
}

func (s scratch) remove() { _ = os.RemoveAll(s.dir) }

// String says where it is, for the table.
func (s scratch) String() string {
	if s.inMemory {
		return "in memory"
	}
	return "on disk"
}

// hasRoom reports whether the folder in memory takes so much, and the machine
// has a gigabyte of memory left then.
func hasRoom(room int64) bool {
	available, err := availableMemory()
	if err != nil || available < room+1<<30 {
		return false
	}
	free, err := freeSpace(memoryFolder)
	return err == nil && free >= room
}

// availableMemory reads it from the kernel (proc(5), /proc/meminfo).
func availableMemory() (int64, error) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), "MemAvailable:"); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("%s does not say what is available", f.Name())
}
