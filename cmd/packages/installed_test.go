package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestRelease checks a release that make release made: make release-test.
func TestRelease(t *testing.T) {
	dir := os.Getenv("GANTRY_TEST_RELEASE")
	if dir == "" {
		t.Skip("GANTRY_TEST_RELEASE names no release; run make release and make release-test")
	}
	checkRelease(t, dir)
	t.Run("installed", func(t *testing.T) { testInstalled(t, dir) })
}

// packaged are files that each package installs, but for the completion for zsh.
var packaged = []string{
	"/etc/gantry/gantry.yaml", "/usr/bin/gantry", "/usr/bin/gantry-helm", "/usr/lib/sysusers.d/gantry.conf",
	"/usr/lib/systemd/system/gantry-mirror@.service", "/usr/lib/systemd/system/gantry-mirror@.timer",
	"/usr/share/bash-completion/completions/gantry", "/usr/share/doc/gantry/README.md", "/usr/share/doc/gantry/gantry.cdx.json",
	"/usr/share/fish/vendor_completions.d/gantry.fish", "/usr/share/man/man1/gantry.1.gz",
}

// output runs a command, and returns what it printed.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	var errs bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, errs.String())
	}
	return string(out)
}

// found reports whether a program is installed. If not, it says what is not checked.
func found(t *testing.T, program, what string) bool {
	t.Helper()
	_, err := exec.LookPath(program)
	if err != nil {
		t.Logf("%s is not checked: %s is not installed", what, program)
	}
	return err == nil
}

// checkDeb unpacks a deb and compares its architecture and its files.
func checkDeb(t *testing.T, file string) {
	t.Helper()
	if !found(t, "dpkg-deb", filepath.Base(file)) {
		return
	}
	fields := strings.Fields(output(t, "dpkg-deb", "--show", "--showformat", "${Package} ${Version} ${Architecture} ${Recommends}", file))
	if name := strings.Join(fields[:min(3, len(fields))], "_") + ".deb"; name != filepath.Base(file) {
		t.Errorf("%s is %v", file, fields)
	}
	files := readTar(t, strings.NewReader(output(t, "dpkg-deb", "--fsys-tarfile", file)))
	for _, name := range append(slices.Clone(packaged), "/usr/share/zsh/vendor-completions/_gantry", "/usr/share/doc/gantry/copyright") {
		if files[name[1:]] == nil {
			t.Errorf("%s has no %s", filepath.Base(file), name)
		}
	}
	z, err := gzip.NewReader(bytes.NewReader(files["usr/share/man/man1/gantry.1.gz"]))
	fail.On(t, err)
	if manual, err := io.ReadAll(z); err != nil || !bytes.Contains(manual, []byte(".TH ")) {
		t.Errorf("the manual page is %q (%v)", manual, err)
	}
	control := t.TempDir()
	output(t, "dpkg-deb", "--control", file, control)
	conffiles, err := os.ReadFile(filepath.Join(control, "conffiles"))
	fail.On(t, err)
	fail.Diff(t, "/etc/gantry/gantry.yaml\n", string(conffiles))
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		output(t, "sh", "-n", filepath.Join(control, script))
	}
}

// checkRPM reads the header of an rpm, checks the digests of its content, and compares its files.
func checkRPM(t *testing.T, file string) {
	t.Helper()
	if !found(t, "rpm", filepath.Base(file)) {
		return
	}
	db := "--dbpath=" + t.TempDir()
	output(t, "rpm", db, "--checksig", "--nosignature", file)
	if name := output(t, "rpm", db, "-qp", "--nosignature", "--qf", "%{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm", file); name != filepath.Base(file) {
		t.Errorf("%s is %s", file, name)
	}
	names := strings.Fields(output(t, "rpm", db, "-qpl", "--nosignature", file))
	for _, name := range append(slices.Clone(packaged), "/usr/share/zsh/site-functions/_gantry", "/usr/share/doc/gantry/LICENSE", "/usr/share/doc/gantry/"+licensesFile) {
		if !slices.Contains(names, name) {
			t.Errorf("%s has no %s", filepath.Base(file), name)
		}
	}
	if config := output(t, "rpm", db, "-qpc", "--nosignature", file); config != "/etc/gantry/gantry.yaml\n" {
		t.Errorf("the configuration of %s is %q", filepath.Base(file), config)
	}
	if os.Getuid() != 0 {
		t.Logf("%s is not unpacked: only root can", filepath.Base(file))
		return
	}
	// Each file is compared with its digest in the header.
	root := t.TempDir()
	output(t, "rpm", "--root", root, "--install", "--nodeps", "--noscripts", "--ignorearch", "--ignoreos", "--nosignature", file)
	for _, name := range packaged {
		if !exists(filepath.Join(root, name)) {
			t.Errorf("%s did not install %s", filepath.Base(file), name)
		}
	}
}

// testInstalled installs the deb of this machine, uses it and removes it.
func testInstalled(t *testing.T, dir string) {
	debs, err := filepath.Glob(filepath.Join(dir, "gantry_*_"+strings.ReplaceAll(runtime.GOARCH, "ppc64le", "ppc64el")+".deb"))
	fail.On(t, err)
	switch _, err := exec.LookPath("dpkg"); {
	case os.Getenv("GANTRY_TEST_INSTALL") == "":
		t.Skip("nothing is installed without INSTALL=1")
	case err != nil || os.Getuid() != 0 || len(debs) != 1:
		t.Skip("the deb is installed only by root, with dpkg, and if the release has one for this machine")
	case exec.Command("dpkg-query", "--show", "gantry").Run() == nil || exists("/etc/gantry"):
		t.Skip("gantry or its settings are on this machine, and are not replaced")
	}
	before := mentioned(t)
	t.Cleanup(func() {
		_ = exec.Command("dpkg", "--purge", "gantry").Run() // after a failed test
		output(t, "dpkg", "--triggers-only", "--pending")
	})
	// Images of Debian leave out manual pages, unless these are asked for. The index of manual pages is made once, at the end.
	output(t, "dpkg", "--no-triggers", "--path-include=/usr/share/*", "--install", debs[0])
	useInstalled(t, dir)

	settings := "log-level: warn\n"
	fail.On(t, os.WriteFile("/etc/gantry/gantry.yaml", []byte(settings), 0o644))
	output(t, "dpkg", "--no-triggers", "--path-include=/usr/share/*", "--install", debs[0]) // like an upgrade
	output(t, "dpkg", "--no-triggers", "--remove", "gantry")
	fail.Diff(t, []string{"/etc/gantry", "/etc/gantry/gantry.yaml"}, added(before, mentioned(t)))
	kept, err := os.ReadFile("/etc/gantry/gantry.yaml")
	fail.On(t, err)
	fail.Diff(t, settings, string(kept))
	output(t, "dpkg", "--no-triggers", "--purge", "gantry")
	fail.Diff(t, []string(nil), added(before, mentioned(t)))
	if exec.Command("getent", "passwd", "gantry").Run() == nil {
		t.Error("the user gantry is left behind")
	}
}

// useInstalled uses what the package installed.
func useInstalled(t *testing.T, dir string) {
	t.Helper()
	manifest, err := os.ReadFile(filepath.Join(dir, "gantry-krew.yaml"))
	fail.On(t, err)
	_, version, _ := strings.Cut(string(manifest), "\n  version: ")
	version, _, _ = strings.Cut(version, "\n")
	if got := output(t, "/usr/bin/gantry", "--version"); !strings.HasPrefix(got, "gantry "+version+" (") {
		t.Errorf("gantry --version prints %q, want %s", got, version)
	}
	output(t, "/usr/bin/gantry", "status", "--help") // reads the settings
	if found(t, "man", "the manual page") {
		if got := output(t, "man", "--pager=cat", "gantry-mirror"); !strings.Contains(got, "gantry mirror") {
			t.Errorf("the manual page is %q", got)
		}
	}
	if got := output(t, "bash", "-c", "source /usr/share/bash-completion/completions/gantry && complete -p gantry"); !strings.Contains(got, "__start_gantry gantry") {
		t.Errorf("bash completes gantry with %q", got)
	}
	if found(t, "systemd-analyze", "the units") {
		out, err := exec.Command("systemd-analyze", "verify", "--man=no", "gantry-mirror@ocp.service", "gantry-mirror@ocp.timer").CombinedOutput()
		if err != nil || strings.Contains(string(out), "gantry") {
			t.Errorf("systemd-analyze verify: %v\n%s", err, out)
		}
	}
	if found(t, "systemd-sysusers", "the user gantry") {
		if got := output(t, "getent", "passwd", "gantry"); !strings.Contains(got, ":/var/lib/gantry:") {
			t.Errorf("the user is %q", got)
		}
	}
}

// mentioned returns the files of this machine that may be of the package.
func mentioned(t *testing.T) (all []string) {
	t.Helper()
	for _, top := range []string{"/etc", "/usr/bin", "/usr/lib/systemd", "/usr/lib/sysusers.d", "/usr/share", "/var/lib/gantry"} {
		err := filepath.WalkDir(top, func(name string, _ fs.DirEntry, err error) error {
			if err == nil && strings.Contains(name, "gantry") {
				all = append(all, name)
			}
			return nil // another process may remove files
		})
		fail.On(t, err)
	}
	return all
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// added returns what is only in the second list.
func added(before, after []string) (some []string) {
	for _, name := range after {
		if !slices.Contains(before, name) {
			some = append(some, name)
		}
	}
	return some
}
