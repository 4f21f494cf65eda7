package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"golang.org/x/crypto/ssh"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
)

const epoch = 1700000000

// inputs writes what a release of small programs is made of, and returns the arguments.
func inputs(t *testing.T, platforms ...string) (dir string, args []string) {
	t.Helper()
	t.Setenv("SOURCE_DATE_EPOCH", fmt.Sprint(epoch))
	dir = t.TempDir()
	write := func(name, text string) {
		fail.On(t, os.MkdirAll(filepath.Join(dir, path.Dir(name)), 0o755))
		fail.On(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("main.go", "package main\n\nfunc main() {}\n")
	write("man/gantry.1", ".TH GANTRY 1\n")
	for _, name := range []string{"gantry.bash", "_gantry", "gantry.fish", "gantry.ps1"} {
		write("completions/"+name, "# "+name+"\n")
	}
	write("image/oci-layout", "{}")
	write("image/index.json", "{}")
	for _, p := range platforms {
		system, arch, _ := strings.Cut(p, "/")
		for _, name := range []string{"gantry", "gantry-helm"} {
			out := filepath.Join(dir, "programs", system+"-"+arch, platform{system, arch}.program(name))
			cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, filepath.Join(dir, "main.go"))
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("building a program: %v\n%s", err, text)
			}
		}
	}
	return dir, []string{
		"-version", "v1.2.3-rc.1", "-revision", "abc", "-maintainer", "Ops <ops@example.com>", "-platforms", strings.Join(platforms, ","),
		"-programs", filepath.Join(dir, "programs"), "-source", "../..", "-man", filepath.Join(dir, "man"), "-completions", filepath.Join(dir, "completions"),
		"-image", filepath.Join(dir, "image"), "-base-url", "https://files.example.com/gantry/", "-to", filepath.Join(dir, "release"),
	}
}

func TestSmallRelease(t *testing.T) {
	dir, args := inputs(t, runtime.GOOS+"/"+runtime.GOARCH, "darwin/arm64", "windows/amd64")
	public, private, err := ed25519.GenerateKey(nil)
	fail.On(t, err)
	block, err := ssh.MarshalPrivateKey(private, "")
	fail.On(t, err)
	key := filepath.Join(dir, "key")
	fail.On(t, os.WriteFile(key, pem.EncodeToMemory(block), 0o600))
	args = append(args, "-key", key)
	fail.On(t, run(t.Context(), args))
	release := filepath.Join(dir, "release")
	checkRelease(t, release)
	first, err := os.ReadFile(filepath.Join(release, sumsFile))
	fail.On(t, err)

	t.Run("signature", func(t *testing.T) {
		line, err := ssh.NewPublicKey(public)
		fail.On(t, err)
		signers, err := sshsig.ParsePublicKeys(ssh.MarshalAuthorizedKey(line))
		fail.On(t, err)
		signature, err := os.ReadFile(filepath.Join(release, "SHA256SUMS.sig"))
		fail.On(t, err)
		_, err = signers.Verify(signature, "file", bytes.NewReader(first), "", time.Now())
		fail.On(t, err)
	})
	t.Run("addresses", func(t *testing.T) {
		for _, name := range []string{"gantry.rb", "gantry-krew.yaml"} {
			text, err := os.ReadFile(filepath.Join(release, name))
			fail.On(t, err)
			if want := "https://files.example.com/gantry/gantry-v1.2.3-rc.1-darwin-arm64.tar.gz"; !strings.Contains(string(text), want) {
				t.Errorf("%s does not name %s:\n%s", name, want, text)
			}
		}
	})
	t.Run("reproducible", func(t *testing.T) {
		later := time.Now().Add(time.Hour)
		fail.On(t, os.Chtimes(filepath.Join(dir, "man/gantry.1"), later, later))
		fail.On(t, run(t.Context(), args))
		again, err := os.ReadFile(filepath.Join(release, sumsFile))
		fail.On(t, err)
		fail.Diff(t, string(first), string(again))
	})
}

func TestRefused(t *testing.T) {
	dir, good := inputs(t, runtime.GOOS+"/"+runtime.GOARCH)
	other := filepath.Join(dir, "programs", "linux-s390x")
	fail.On(t, os.CopyFS(other, os.DirFS(filepath.Join(dir, "programs", runtime.GOOS+"-"+runtime.GOARCH))))
	foreign := filepath.Join(dir, "foreign")
	fail.On(t, os.MkdirAll(filepath.Join(foreign, "photos"), 0o755))
	for _, test := range []struct {
		want string
		args []string
	}{
		{`the version is "1.2.3"; write one such as VERSION=v1.2.3`, []string{"-version", "1.2.3", "-check"}},
		{`the version is "v1.2"`, []string{"-version", "v1.2", "-check"}},
		{`the platform "linux/mips" is not one of linux/amd64, `, []string{"-platforms", "linux/amd64,linux/mips", "-check"}},
		{`the address of the files is "files.example.com"; write one such as BASE_URL=https://`, []string{"-base-url", "files.example.com", "-check"}},
		{"opening the key absent", []string{"-key", "absent", "-check"}},
		{"gantry: it was not built with GOARCH=s390x", []string{"-platforms", "linux/s390x"}},
		{"collecting licenses: reading a program", []string{"-platforms", "linux/arm64"}},
		{"reading the manual pages: ", []string{"-man", filepath.Join(dir, "completions")}},
		{"is not a release, and is not replaced", []string{"-to", foreign}},
		{`unexpected argument "more"`, []string{"more"}},
	} {
		err := run(t.Context(), append(slices.Clone(good), test.args...))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: the error is %v, want %q", test.args, err, test.want)
		}
	}
	if _, err := sourceDate("yesterday"); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
		t.Errorf("the error of an invalid time is %v", err)
	}
}

// checkRelease checks the files of a release, and that SHA256SUMS names each of them.
func checkRelease(t *testing.T, dir string) {
	t.Helper()
	sums := readSums(t, dir)
	entries, err := os.ReadDir(dir)
	fail.On(t, err)
	for _, e := range entries {
		if name := e.Name(); sums[name] == "" && name != sumsFile && name != sumsFile+".sig" {
			t.Errorf("%s does not name %s", sumsFile, name)
		}
	}
	for name, sum := range sums {
		text, err := os.ReadFile(filepath.Join(dir, name))
		fail.On(t, err)
		if got := sha256.Sum256(text); hex.EncodeToString(got[:]) != sum {
			t.Errorf("the SHA-256 of %s is %x, want %s", name, got, sum)
		}
		switch {
		case strings.HasSuffix(name, "-image.tar"):
			if files := readTar(t, bytes.NewReader(text)); files["oci-layout"] == nil || files["index.json"] == nil {
				t.Errorf("%s is not an OCI image layout", name)
			}
		case strings.HasSuffix(name, ".tar.gz"), strings.HasSuffix(name, ".zip"):
			checkArchive(t, name, text)
		case strings.HasSuffix(name, ".deb"):
			checkDeb(t, filepath.Join(dir, name))
		case strings.HasSuffix(name, ".rpm"):
			checkRPM(t, filepath.Join(dir, name))
		case name == "gantry.rb", name == "gantry-krew.yaml":
			checkManifest(t, name, string(text), sums)
		}
	}
}

// readSums reads the checksums by name.
func readSums(t *testing.T, dir string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, sumsFile))
	fail.On(t, err)
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		sums[name] = sum
	}
	return sums
}

// readTar reads the files of an archive.
func readTar(t *testing.T, r io.Reader) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		fail.On(t, err)
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if programs := []string{"gantry", "gantry-helm"}; slices.Contains(programs, path.Base(h.Name)) && h.Size > 1e6 && h.Mode != 0o755 {
			t.Errorf("the mode of %s is %o", h.Name, h.Mode)
		}
		text, err := io.ReadAll(archive)
		fail.On(t, err)
		files[strings.TrimPrefix(h.Name, "./")] = text
	}
}

// checkArchive checks that an archive has all files in one folder, and that the bills of materials describe its programs.
func checkArchive(t *testing.T, name string, text []byte) {
	t.Helper()
	var files map[string][]byte
	folder, isZip := strings.CutSuffix(name, ".zip")
	suffix := ""
	if isZip {
		suffix = ".exe"
		files = map[string][]byte{}
		archive, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
		fail.On(t, err)
		for _, f := range archive.File {
			r, err := f.Open()
			fail.On(t, err)
			files[f.Name], err = io.ReadAll(r)
			fail.On(t, err)
		}
	} else {
		folder = strings.TrimSuffix(name, ".tar.gz")
		z, err := gzip.NewReader(bytes.NewReader(text))
		fail.On(t, err)
		files = readTar(t, z)
	}
	for _, want := range []string{
		"gantry" + suffix, "gantry-helm" + suffix, "LICENSE", licensesFile, "README.md", "man/gantry.1", "sbom/gantry.cdx.json", "sbom/gantry-helm.cdx.json",
		"completions/gantry.bash", "completions/_gantry", "completions/gantry.fish", "completions/gantry.ps1",
	} {
		if files[folder+"/"+want] == nil {
			t.Errorf("%s has no %s/%s", name, folder, want)
		}
	}
	for file := range files {
		if !strings.HasPrefix(file, folder+"/") {
			t.Errorf("%s has %s outside its folder", name, file)
		}
	}
	for _, program := range []string{"gantry", "gantry-helm"} {
		checkBill(t, files[folder+"/sbom/"+program+".cdx.json"], files[folder+"/"+program+suffix])
	}
}

// checkBill checks a bill of materials against its program.
func checkBill(t *testing.T, text, program []byte) {
	t.Helper()
	var bill cdx.BOM
	fail.On(t, cdx.NewBOMDecoder(bytes.NewReader(text), cdx.BOMFileFormatJSON).Decode(&bill))
	main := bill.Metadata.Component
	if sum := sha256.Sum256(program); (*main.Hashes)[0].Value != hex.EncodeToString(sum[:]) {
		t.Errorf("the bill of materials of %s is one of another program", main.Name)
	}
	known := map[string]bool{main.BOMRef: true}
	for _, c := range *bill.Components {
		if c.Version == "" || c.Licenses == nil || (*c.Licenses)[0].Expression == "" && (*c.Licenses)[0].License.ID == "" || known[c.BOMRef] {
			t.Errorf("%s: the component %s has no version or no license, or is there twice", main.Name, c.BOMRef)
		}
		known[c.BOMRef] = true
	}
	if std := "pkg:golang/std@" + strings.TrimPrefix(runtime.Version(), "go"); !known[std] {
		t.Errorf("%s: there is no %s", main.Name, std)
	}
	for _, d := range *bill.Dependencies {
		delete(known, d.Ref)
	}
	if len(known) > 0 {
		t.Errorf("%s: no dependency names %v", main.Name, slices.Collect(maps.Keys(known)))
	}
}

var (
	assetURL = regexp.MustCompile(`(?:url|uri:) "?[^"\n]*/([^"/\n]+)"?`)
	assetSum = regexp.MustCompile(`sha256:? "?([0-9a-f]{64})`)
)

// checkManifest checks that a formula or manifest names archives with their checksums.
func checkManifest(t *testing.T, name, text string, sums map[string]string) {
	t.Helper()
	files, digests := assetURL.FindAllStringSubmatch(text, -1), assetSum.FindAllStringSubmatch(text, -1)
	if len(files) == 0 || len(files) != len(digests) {
		t.Fatalf("%s names %d archives and %d checksums", name, len(files), len(digests))
	}
	for i := range files {
		if sums[files[i][1]] != digests[i][1] {
			t.Errorf("%s: the checksum of %s is %s, want %q", name, files[i][1], digests[i][1], sums[files[i][1]])
		}
	}
}
