package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// archiveName returns the name of a platform's archive.
func (r *release) archiveName(p platform) string {
	if p.os == "windows" {
		return r.folder(p) + ".zip"
	}
	return r.folder(p) + ".tar.gz"
}

// folder returns the name of the folder in a platform's archive.
func (r *release) folder(p platform) string { return "gantry-" + r.version + "-" + p.String() }

// writeArchive writes the archive of a platform, and returns its SHA-256.
func (r *release) writeArchive(p platform, c *contents) (string, error) {
	pack := r.tarGzip
	if p.os == "windows" {
		pack = r.zip
	}
	var all []file
	for _, f := range c.all() {
		f.name = path.Join(r.folder(p), f.name)
		all = append(all, f)
	}
	return r.create(r.archiveName(p), func(w io.Writer) error { return pack(w, all) })
}

// create writes a file of the release, and returns its SHA-256.
func (r *release) create(name string, write func(io.Writer) error) (string, error) {
	f, err := os.Create(filepath.Join(r.to, name))
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	if err := errors.Join(write(io.MultiWriter(f, sum)), f.Close()); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func (r *release) tarGzip(w io.Writer, files []file) error {
	z := gzip.NewWriter(w)
	return errors.Join(r.tar(z, files), z.Close())
}

func (r *release) tar(w io.Writer, files []file) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: int64(f.mode), Size: int64(len(f.data)), ModTime: r.modified, Typeflag: tar.TypeReg}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	return t.Close()
}

func (r *release) zip(w io.Writer, files []file) error {
	z := zip.NewWriter(w)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: r.modified}
		h.SetMode(f.mode)
		entry, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := entry.Write(f.data); err != nil {
			return err
		}
	}
	return z.Close()
}

// imageName returns the name of the archive with the container image.
func (r *release) imageName() string { return "gantry-" + r.version + "-image.tar" }

// writeImage writes the OCI image layout as an archive that podman load and skopeo read.
func (r *release) writeImage() error {
	var all []file
	layout := os.DirFS(r.image)
	err := fs.WalkDir(layout, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(layout, name)
		all = append(all, file{name, 0o644, text})
		return err
	})
	if err != nil {
		return err
	}
	_, err = r.create(r.imageName(), func(w io.Writer) error { return r.tar(w, all) })
	return err
}
