package main

import (
	"archive/tar"
	"io"
	"path"
	"slices"
	"strings"
)

// pack writes entries as a layer: sorted by path, with the folders above each file, owned by root.
// The same entries give the same bytes, in whatever order they come.
func pack(w io.Writer, entries []entry) error {
	byPath := map[string]entry{}
	for _, e := range entries {
		e.header.Name = path.Clean(strings.TrimPrefix(e.header.Name, "/"))
		if e.header.Name != "." {
			byPath[e.header.Name] = e
		}
	}
	var newest tar.Header
	for _, e := range byPath {
		if e.header.ModTime.After(newest.ModTime) {
			newest.ModTime = e.header.ModTime
		}
	}
	for _, e := range entries {
		for dir := path.Dir(path.Clean(strings.TrimPrefix(e.header.Name, "/"))); dir != "."; dir = path.Dir(dir) {
			if _, ok := byPath[dir]; !ok {
				byPath[dir] = entry{header: tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755, ModTime: newest.ModTime}}
			}
		}
	}
	names := make([]string, 0, len(byPath))
	for name := range byPath {
		names = append(names, name)
	}
	slices.Sort(names)
	t := tar.NewWriter(w)
	for _, name := range names {
		e := byPath[name]
		h := &tar.Header{
			Typeflag: e.header.Typeflag, Name: name, Linkname: e.header.Linkname, Mode: e.header.Mode & 0o7777,
			ModTime: e.header.ModTime.Truncate(1e9), Size: int64(len(e.data)),
		}
		if h.Typeflag == tar.TypeDir {
			h.Name += "/"
		}
		if h.Typeflag == tar.TypeLink {
			h.Linkname = path.Clean(h.Linkname)
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(e.data); err != nil {
			return err
		}
	}
	return t.Close()
}
