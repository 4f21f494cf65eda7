package main

// medium mounts a file system of the given size in MiB, which a test may fill or remove.
func (w *fixture) medium(name string, size int) string {
	w.t.Helper()
	return w.site().Medium(name, size)
}

// filler fills the disk of a folder with a file, and returns what removes it.
func (w *fixture) filler(dir string) (fill, free func()) { return w.site().Filler(dir) }
