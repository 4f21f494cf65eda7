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

// stored returns the size of a file, or of all files below a folder; 0 if it does not exist.
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

// memoryFolder is a file system in memory on Linux.
const memoryFolder = "/dev/shm"

// A scratch is the folder for the registries and archives of a run.
type scratch struct {
	dir      string
	inMemory bool
}

// newScratch creates the folder below dir. If dir is "", it is in memory if there is room,
// otherwise in the system's folder for temporary files.
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

// String returns where the folder is, for the table.
func (s scratch) String() string {
	if s.inMemory {
		return "in memory"
	}
	return "on disk"
}

// hasRoom reports whether the folder in memory has room for so many bytes, and the machine still
// has a gigabyte of free memory then.
func hasRoom(room int64) bool {
	available, err := availableMemory()
	if err != nil || available < room+1<<30 {
		return false
	}
	free, err := freeSpace(memoryFolder)
	return err == nil && free >= room
}

// availableMemory returns the available memory in bytes (proc(5), /proc/meminfo).
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
	return 0, fmt.Errorf("%s does not contain MemAvailable", f.Name())
}
