package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// buildProgram builds a static program that prints what the tests want to know about the image.
func buildProgram(t *testing.T, dir string) {
	t.Helper()
	source := filepath.Join(t.TempDir(), "main.go")
	text := `package main

import (
	"crypto/x509"
	"fmt"
	"os"
	"time"
)

func main() {
	roots, err := x509.SystemCertPool()
	zone, zoneErr := time.LoadLocation("Europe/Vienna")
	fmt.Println(err == nil && len(roots.Subjects()) > 100, zone, zoneErr, os.WriteFile("result", nil, 0o600), os.Getuid(), os.Getgid())
}
`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"gantry", "gantry-helm"} {
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(dir, name), source)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("building a program: %v\n%s", err, out)
		}
	}
}

func goRoot(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// makeImage runs the command, and returns the folder of the layout and its only image.
func makeImage(t *testing.T, programs string, args ...string) (string, v1.Image) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "image")
	platform := runtime.GOOS + "/" + runtime.GOARCH
	args = append([]string{"-programs", programs, "-platforms", platform, "-to", to, "-zoneinfo", filepath.Join(goRoot(t), "lib/time/zoneinfo.zip")}, args...)
	if err := run(t.Context(), args); err != nil {
		t.Fatal(err)
	}
	index, err := layout.ImageIndexFromPath(to)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the layout's index, and the image's
		manifest, err := index.IndexManifest()
		if err != nil || len(manifest.Manifests) != 1 {
			t.Fatalf("%d manifests: %v", len(manifest.Manifests), err)
		}
		child := manifest.Manifests[0]
		if child.MediaType.IsIndex() {
			if index, err = index.ImageIndex(child.Digest); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if child.Platform == nil || child.Platform.String() != platform {
			t.Errorf("the platform of the image is %v, want %s", child.Platform, platform)
		}
		img, err := index.Image(child.Digest)
		if err != nil {
			t.Fatal(err)
		}
		return to, img
	}
	t.Fatal("there is no image in the layout")
	return "", nil
}

func TestImage(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	programs := t.TempDir()
	dir := filepath.Join(programs, runtime.GOOS+"-"+runtime.GOARCH)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	buildProgram(t, dir)
	licenses := filepath.Join(t.TempDir(), "LICENSE")
	if err := os.WriteFile(licenses, []byte("permission is granted"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-version", "v1.2.3", "-revision", "abc", "-licenses", licenses}
	_, img := makeImage(t, programs, args...)
	first, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}

	t.Run("reproducible", func(t *testing.T) {
		later := time.Now().Add(time.Hour)
		if err := os.Chtimes(filepath.Join(dir, "gantry"), later, later); err != nil {
			t.Fatal(err)
		}
		_, again := makeImage(t, programs, args...)
		if second, err := again.Digest(); err != nil || second != first {
			t.Errorf("the second image is %s, the first was %s (%v)", second, first, err)
		}
	})

	t.Run("config", func(t *testing.T) {
		file, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if c := file.Config; c.User != "65532:0" || !slices.Equal(c.Entrypoint, []string{"/usr/bin/gantry"}) || c.WorkingDir != "/workspace" {
			t.Errorf("the config has user %q, entrypoint %q and folder %q", c.User, c.Entrypoint, c.WorkingDir)
		}
		if got := file.Config.Labels["org.opencontainers.image.version"]; got != "v1.2.3" {
			t.Errorf("the version is %q", got)
		}
		if !file.Created.Equal(time.Unix(1700000000, 0)) {
			t.Errorf("it was created at %s", file.Created)
		}
	})

	t.Run("runs", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("only root can change the root folder")
		}
		root := t.TempDir()
		extract(t, img, root)
		if text, err := os.ReadFile(filepath.Join(root, "licenses/LICENSE")); err != nil || string(text) != "permission is granted" {
			t.Errorf("the license is %q: %v", text, err)
		}
		file, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("chroot", "--userspec=65532:0", root, "/usr/bin/gantry")
		cmd.Env = file.Config.Env
		out, err := cmd.CombinedOutput()
		// chroot changes to /, where the user must not write; time zones and certificates are found.
		if want := "true Europe/Vienna <nil> open result: permission denied 65532 0\n"; err != nil || string(out) != want {
			t.Errorf("the program printed %q (%v), want %q", out, err, want)
		}
	})
}

// extract writes the files of an image below root, with their modes and owners.
func extract(t *testing.T, img v1.Image, root string) {
	t.Helper()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for dir := filepath.Dir(root); dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) { //nolint:usetesting // the folder above those of tests
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	content := mutate.Extract(img)
	defer func() { _ = content.Close() }()
	for r := tar.NewReader(content); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			var text []byte
			if text, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, text, 0o600)
			}
		}
		if err := errors.Join(err, os.Lchown(path, h.Uid, h.Gid), os.Chmod(path, h.FileInfo().Mode())); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRefused(t *testing.T) {
	programs := t.TempDir()
	dir := filepath.Join(programs, "linux-amd64")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	zones := filepath.Join(goRoot(t), "lib/time/zoneinfo.zip")
	dynamic, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Skip(err)
	}
	for _, test := range []struct {
		name, want string
		program    []byte
		args       []string
	}{
		{name: "no program", want: "reading a program", args: []string{"-zoneinfo", zones}},
		{name: "a dynamic program", program: dynamic, want: "needs a dynamic linker", args: []string{"-zoneinfo", zones}},
		{name: "a script", program: []byte("#!/bin/sh\n"), want: "not a program for Linux", args: []string{"-zoneinfo", zones}},
		{name: "no license", want: "reading a license", args: []string{"-zoneinfo", zones, "-licenses", "absent"}},
		{name: "no time zones", program: []byte("x"), want: "reading the time zones"},
		{name: "another system", want: "not linux/ARCHITECTURE", args: []string{"-zoneinfo", zones, "-platforms", "darwin/arm64"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.program != nil {
				for _, name := range []string{"gantry", "gantry-helm"} {
					if err := os.WriteFile(filepath.Join(dir, name), test.program, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			err := run(t.Context(), append([]string{"-programs", programs, "-to", filepath.Join(t.TempDir(), "image")}, test.args...))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
	t.Run("a folder that is no layout", func(t *testing.T) {
		dir := t.TempDir()
		if err := writeLayout(dir, nil); err == nil || !strings.Contains(err.Error(), "is not replaced") {
			t.Errorf("the error is %v", err)
		}
	})
	if _, err := sourceDate("yesterday"); err == nil || !strings.Contains(fmt.Sprint(err), "SOURCE_DATE_EPOCH") {
		t.Errorf("the error of an invalid time is %v", err)
	}
}
