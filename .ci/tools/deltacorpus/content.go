package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// An entry is a file, folder or link of a layer.
type entry struct {
	header tar.Header
	data   []byte
}

// content returns what a version of a series has in its layer. Built is the time of files that were
// made for the image; files of Debian packages have their own times.
func (s series) content(ctx context.Context, version string, files []string, built time.Time) ([]entry, error) {
	var all []entry
	for i, file := range files {
		var entries []entry
		var err error
		switch s.Source {
		case "go":
			entries, err = s.program(ctx, version, built)
		case "debian":
			entries, err = debianContent(ctx, file)
		case "npm":
			entries, err = npmContent(file, s.Packages[i], built)
			if s.File != "" && err == nil {
				entries, err = s.only(entries, path.Join("app/node_modules", s.Packages[i], s.File))
			}
		}
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
	}
	if s.Bytecode {
		compiled, err := bytecode(ctx, all)
		return append(all, compiled...), err
	}
	return all, nil
}

func debianContent(ctx context.Context, file string) ([]entry, error) {
	b, err := output(ctx, os.TempDir(), nil, "dpkg-deb", "--fsys-tarfile", file)
	if err != nil {
		return nil, err
	}
	return readTar(bytes.NewReader(b), func(h *tar.Header) { h.Name = path.Clean(h.Name) })
}

// only returns the program that a package ships, where an image has it.
func (s series) only(entries []entry, name string) ([]entry, error) {
	for _, e := range entries {
		if e.header.Name == name {
			e.header.Name, e.header.Mode = "usr/local/bin/"+s.Name, 0o755
			return []entry{e}, nil
		}
	}
	return nil, fmt.Errorf("the package does not have %s", name)
}

// npmContent returns the files of a package where npm installs them. Npm gives every file the same
// time, whatever the time in the package is.
func npmContent(file, name string, built time.Time) ([]entry, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return readTar(z, func(h *tar.Header) {
		_, rest, _ := strings.Cut(path.Clean(h.Name), "/") // the first part is "package" or another name
		h.Name = path.Join("app/node_modules", name, rest)
		h.ModTime = built
		h.Mode |= 0o644
	})
}

func readTar(r io.Reader, change func(*tar.Header)) ([]entry, error) {
	var entries []entry
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(t)
		if err != nil {
			return nil, err
		}
		change(h)
		entries = append(entries, entry{*h, data})
	}
}

// program builds a Go program in a module that only requires the program's own, so that programs
// whose go.mod has replace directives can be built, too.
func (s series) program(ctx context.Context, version string, built time.Time) ([]entry, error) {
	dir, err := os.MkdirTemp("", "deltacorpus-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	env := []string{
		"GOFLAGS=-mod=mod -trimpath -buildvcs=false", "GOWORK=off", "CGO_ENABLED=0", "GOOS=linux", "GOARCH=" + s.Arch,
	}
	if _, err := output(ctx, dir, env, "go", "mod", "init", "example.com/program"); err != nil {
		return nil, err
	}
	if _, err := output(ctx, dir, env, "go", "get", s.Packages[0]+"@"+version); err != nil {
		return nil, err
	}
	target := s.Main
	if s.Call != "" {
		dot := strings.LastIndex(s.Call, ".")
		source := fmt.Sprintf("package main\n\nimport program %q\n\nfunc main() { _ = program.%s().Execute() }\n", s.Call[:dot], s.Call[dot+1:])
		if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o644); err != nil {
			return nil, err
		}
		target = "."
	}
	args := []string{"build", "-o", "program"}
	if s.Strip {
		args = append(args, "-ldflags=-s -w")
	}
	if _, err := output(ctx, dir, env, "go", append(args, target)...); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(dir, "program"))
	if err != nil {
		return nil, err
	}
	return []entry{{tar.Header{Typeflag: tar.TypeReg, Name: "usr/local/bin/" + s.Name, Mode: 0o755, ModTime: built, Size: int64(len(data))}, data}}, nil
}

// bytecode compiles the Python files among the entries, with python3 of this machine, as RPM packages
// and pip do when they install them.
func bytecode(ctx context.Context, entries []entry) ([]entry, error) {
	dir, err := os.MkdirTemp("", "deltacorpus-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	times := map[string]time.Time{}
	for _, e := range entries {
		if e.header.Typeflag != tar.TypeReg || path.Ext(e.header.Name) != ".py" {
			continue
		}
		file := filepath.Join(dir, filepath.FromSlash(e.header.Name))
		times[strings.TrimSuffix(path.Base(e.header.Name), ".py")] = e.header.ModTime
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, e.data, 0o644),
			os.Chtimes(file, e.header.ModTime, e.header.ModTime)); err != nil {
			return nil, err
		}
	}
	// A package may have examples that are not valid Python: they have no bytecode.
	_, err = output(ctx, dir, nil, "python3", "-m", "compileall", "-q", "-s", dir, "-p", "/", dir)
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	var compiled []entry
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(file) != ".pyc" {
			return err
		}
		data, err := os.ReadFile(file)
		rel, relErr := filepath.Rel(dir, file)
		name, _, _ := strings.Cut(filepath.Base(file), ".")
		h := tar.Header{Typeflag: tar.TypeReg, Name: filepath.ToSlash(rel), Mode: 0o644, ModTime: times[name], Size: int64(len(data))}
		compiled = append(compiled, entry{h, data})
		return errors.Join(err, relErr)
	})
	return compiled, err
}
