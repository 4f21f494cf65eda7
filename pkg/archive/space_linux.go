package archive

import "github.com/gantry-mirror/gantry/pkg/file/space"

// isFAT reports whether dir is on FAT32 or an older FAT.
func isFAT(dir string) (bool, error) {
	kind, err := space.FileSystem(dir)
	return kind == "vfat", err
}
