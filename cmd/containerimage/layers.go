package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// Where the image has the certificate authorities and the time zones.
const (
	certificatesFile = "etc/ssl/certs/ca-certificates.crt"
	zoneinfoFile     = "usr/share/zoneinfo.zip"
)

// contents says what the image contains.
type contents struct {
	programs string // the folder with the programs
	zoneinfo string // the time zone database, a zip file
	licenses string // files with licenses, separated by commas
	modified time.Time
}

// An entry is a file or, without content, a folder.
type entry struct {
	name    string
	mode    int64
	user    int
	content []byte
}

// base returns the layer with everything but the programs.
func (c contents) base() (v1.Layer, error) {
	zones, err := os.ReadFile(c.zoneinfo)
	if err != nil {
		return nil, fmt.Errorf("reading the time zones: %w", err)
	}
	roots, err := certificates()
	if err != nil {
		return nil, err
	}
	entries := []entry{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, content: []byte("root:x:0:\n")},
		{name: "etc/passwd", mode: 0o644, content: fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\ngantry:x:%d:0:gantry:/workspace:/sbin/nologin\n", userID)},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: certificatesFile, mode: 0o644, content: roots},
		{name: "licenses/", mode: 0o755},
		{name: "tmp/", mode: 0o1777},
		{name: "usr/", mode: 0o755},
		{name: "usr/bin/", mode: 0o755},
		{name: "usr/share/", mode: 0o755},
		{name: zoneinfoFile, mode: 0o644, content: zones},
		{name: "workspace/", mode: 0o775, user: userID},
	}
	for name := range strings.SplitSeq(c.licenses, ",") {
		if name == "" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading a license: %w", err)
		}
		entries = append(entries, entry{name: "licenses/" + filepath.Base(name), mode: 0o644, content: text})
	}
	return c.layer(entries)
}

// certificates returns the certificate authorities of Mozilla that have no further constraints, which a PEM
// file cannot express.
func certificates() ([]byte, error) {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

// programLayer returns the layer with the programs, which must be static: the image has no libraries.
func (c contents) programLayer() (v1.Layer, error) {
	entries := []entry{{name: "usr/", mode: 0o755}, {name: "usr/bin/", mode: 0o755}}
	for _, name := range []string{"gantry", "gantry-helm"} {
		content, err := os.ReadFile(filepath.Join(c.programs, name))
		if err != nil {
			return nil, fmt.Errorf("reading a program: %w", err)
		}
		if err := checkStatic(content); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(c.programs, name), err)
		}
		entries = append(entries, entry{name: "usr/bin/" + name, mode: 0o755, content: content})
	}
	return c.layer(entries)
}

// checkStatic returns an error if a program is loaded by a dynamic linker.
func checkStatic(program []byte) error {
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return fmt.Errorf("it is not a program for Linux: %w", err)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("it needs a dynamic linker; build it with CGO_ENABLED=0")
		}
	}
	return nil
}

// layer returns a layer with the entries in their order.
func (c contents) layer(entries []entry) (v1.Layer, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: e.mode, Uid: e.user, Size: int64(len(e.content)), ModTime: c.modified, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if e.content == nil {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
}
