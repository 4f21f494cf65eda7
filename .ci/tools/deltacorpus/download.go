package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// downloads gets packages with the clients of their registries.
type downloads struct {
	dir     string
	apt     []string // the options of apt-get; empty until the lists of packages were read
	updates map[string]bool
}

// get returns the file of a package in a version.
func (d *downloads) get(ctx context.Context, s series, name, version string) (string, error) {
	if s.Source == "go" {
		return goModule(ctx, name, version)
	}
	ext := map[string]string{"debian": ".deb", "npm": ".tgz"}[s.Source]
	file := filepath.Join(d.dir, s.Source, fileName(name+"@"+version)+ext)
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(d.dir, "download-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	switch s.Source {
	case "debian":
		if err := d.update(ctx, s.Suites); err != nil {
			return "", err
		}
		_, err = output(ctx, tmp, nil, "apt-get", append(d.apt[:len(d.apt):len(d.apt)], "download", name+"="+version)...)
	case "npm":
		_, err = output(ctx, tmp, nil, "npm", "pack", "--silent", name+"@"+version)
	}
	if err != nil {
		return "", err
	}
	got, err := filepath.Glob(filepath.Join(tmp, "*"+ext))
	if err != nil || len(got) != 1 {
		return "", errors.Join(fmt.Errorf("downloading %s %s gave %d files", name, version, len(got)), err)
	}
	return file, os.Rename(got[0], file)
}

// goModule returns the zip file of a module in the module cache.
func goModule(ctx context.Context, module, version string) (string, error) {
	out, err := output(ctx, os.TempDir(), nil, "go", "mod", "download", "-json", module+"@"+version)
	if err != nil {
		return "", err
	}
	var m struct{ Zip string }
	err = json.Unmarshal(out, &m)
	return m.Zip, err
}

// checkSum compares a download with the list, and returns its sum, which the list may not have yet.
func checkSum(file, want string) (string, error) {
	_, got, err := sumOf(file)
	if err == nil && want != "" && got != want {
		err = fmt.Errorf("%s has the SHA-256 %s, but list.json has %s", file, got, want)
	}
	return got, err
}

// sumOf returns the size and the SHA-256 of a file.
func sumOf(file string) (int64, string, error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return n, hex.EncodeToString(h.Sum(nil)), err
}

// fileName is a name that is safe as the name of a file.
func fileName(name string) string {
	return strings.NewReplacer("/", "+", ":", "+", "~", "-").Replace(name)
}

// output runs a program and returns what it prints.
func output(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		text := strings.TrimSpace(stderr.String() + "\n" + string(out))
		return nil, fmt.Errorf("running %s %s: %w\n%s", name, strings.Join(args, " "), err, text[max(0, len(text)-2000):])
	}
	return out, nil
}
