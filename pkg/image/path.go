package image

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// CleanPath returns a name in an image as a path below its root: without a leading slash, and "" for
// the root. A name with ".." is an error, since it could be outside of the image.
func CleanPath(name string) (string, error) {
	if strings.Contains(name, "..") && slices.Contains(strings.Split(name, "/"), "..") {
		return "", fmt.Errorf("the name %.200q points upwards", name)
	}
	return path.Clean("/" + name)[1:], nil
}

// IsBelow reports whether name is dir or below it. Every name is below the root, "".
func IsBelow(name, dir string) bool {
	return dir == "" || name == dir || len(name) > len(dir) && name[len(dir)] == '/' && name[:len(dir)] == dir
}

// parent returns the directory of name, "" for the root and for names in it.
func parent(name string) string {
	if n := strings.LastIndexByte(name, '/'); n > 0 {
		return name[:n]
	}
	return ""
}
