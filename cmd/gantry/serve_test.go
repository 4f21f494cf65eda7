package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/crypto/bcrypt"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/plan/cluster"
)

// A servedDisk is a running gantry serve.
type servedDisk struct {
	view.Served
	*served
}

// serveDisk starts the program and waits until it prints its address.
func serveDisk(w *fixture, args ...string) *servedDisk {
	t := w.t
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 3*serveTime)
	t.Cleanup(stop)
	s := &servedDisk{served: &served{t: t, said: make(chan string, 1)}}
	s.cmd = w.process(ctx, append([]string{"serve", "--listen", "127.0.0.1:0", "--output", "json"}, args...)...)
	var stderr bytes.Buffer
	s.cmd.Stderr = &stderr
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	line, _ := lines.ReadString('\n') // an incomplete line is detected below
	if err := json.Unmarshal([]byte(line), &s.Served); err != nil || s.Version != 1 {
		_ = s.cmd.Wait() // only its output matters
		t.Fatalf("it prints %q\n%s", line, &stderr)
	}
	s.addr = s.Address
	go func() {
		_, _ = io.Copy(io.Discard, lines)
		s.said <- ""
	}()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("it said\n%s", &stderr)
		}
	})
	return s
}

// bare runs the program without a workspace, which serve does not need.
func (w *fixture) bare(args ...string) outcome {
	w.t.Helper()
	var stdout, stderr bytes.Buffer
	code := (&app{stdout: &stdout, stderr: &stderr, env: w.env, tune: w.tune}).run(args)
	return outcome{stdout.String(), stderr.String(), code}
}

// TestServe pulls everything from a served archive, with a client that shares no code with Gantry,
// and mirrors from it as from any registry.
func TestServe(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	disk := "file://" + w.path("disk")
	w.must("mirror", "-c", w.path("imageset.yaml"), disk, "--volume-size", "0.75MB")
	before := folderOf(t, w.path("disk"))
	manifests := w.path("manifests")
	s := serveDisk(w, disk, "--resources", manifests, "--address", "bastion.example.com:8443")
	if s.URL != "http://"+s.Address || s.Images < 20 || len(s.NotServed) > 0 {
		t.Errorf("it reports %+v", s.Served)
	}
	for _, repository := range []string{acme, community} {
		v, err := registrytest.NewClient(s.Address).VerifyCatalog(t.Context(), repository, "v4.20", func(path string) string { return path })
		if err != nil || len(v.Pulled) == 0 || len(v.Pulled) != len(v.Images) {
			t.Errorf("%s: %d of %d images pulled, %v", repository, len(v.Pulled), len(v.Images), err)
		}
	}
	for _, line := range []string{`gantry_serve_requests_total{code="200"} `, "gantry_serve_sent_bytes_total ", `gantry_serve_images{image_set="imageset"} `, "gantry_serve_archive_sequence{"} {
		if text := s.get("/metrics", http.StatusOK); !strings.Contains(text, line) || !strings.Contains(text, "# TYPE gantry_serve_requests_total counter") {
			t.Errorf("/metrics has no %s in\n%s", line, text)
		}
	}
	// The manifests are the same as for a mirror at that address.
	w.sameResources(manifests, "bastion.example.com:8443")
	var catalog struct{ Repositories []string }
	if err := json.Unmarshal([]byte(s.get("/v2/_catalog", http.StatusOK)), &catalog); err != nil || len(catalog.Repositories) != s.Repositories || !slices.Contains(catalog.Repositories, acme) {
		t.Errorf("the repositories are %v, %v", catalog.Repositories, err)
	}
	if skopeo, err := exec.LookPath("skopeo"); err == nil {
		to := filepath.Join(t.TempDir(), "pulled")
		out, err := exec.CommandContext(t.Context(), skopeo, "copy", "--all", "--src-tls-verify=false", "docker://"+s.Address+"/"+acme+":v4.20", "dir:"+to).CombinedOutput()
		if err != nil {
			t.Errorf("skopeo: %v\n%s", err, out)
		}
	}
	s.end(os.Interrupt)
	if diff := cmp.Diff(before, folderOf(t, w.path("disk"))); diff != "" {
		t.Errorf("serving changed the folder: %s", diff)
	}
	if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.addr); err == nil {
		conn.Close()
		t.Error("the server still listens")
	}
}

// sameResources compares the manifests for an address with the manifests that gantry mirror writes
// for the mirror, with the same name in mirror sets.
func (w *fixture) sameResources(dir, address string) {
	w.t.Helper()
	o := w.must("mirror", "--from", "file://"+w.path("disk"), w.docker(""), "--resource-name", "serve-imageset", "--output", "json")
	var result struct{ Resources cluster.ResourceFiles }
	if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || len(result.Resources.Files) < 3 {
		w.t.Fatalf("gantry mirror wrote %+v, %v", result, err)
	}
	want, got := map[string]string{}, map[string]string{}
	for _, name := range result.Resources.Files {
		raw, err := os.ReadFile(filepath.Join(result.Resources.Dir, name))
		if err != nil {
			w.t.Fatal(err)
		}
		want[name] = strings.ReplaceAll(string(raw), w.mirror.Host, address)
	}
	for name := range folderOf(w.t, dir) {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			w.t.Fatal(err)
		}
		got[name] = string(raw)
	}
	delete(got, ".gantry-resources")
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("the manifests are not those of a mirror (-want +got):\n%s", diff)
	}
}

// folderOf returns the files of a folder with their digests.
func folderOf(t *testing.T, dir string) map[string]digest.Digest {
	t.Helper()
	files := map[string]digest.Digest{}
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range names {
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = digest.FromBytes(raw)
	}
	return files
}

// TestServeGuarded serves an archive with TLS and passwords, with Gantry as the client.
func TestServeGuarded(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{TLS: true})
	disk := "file://" + w.path("disk")
	w.must("mirror", "-c", w.path("imageset.yaml"), disk)
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("there is no openssl to make a certificate with")
	}
	cert, key := w.path("tls.crt"), w.path("tls.key")
	if out, err := exec.CommandContext(t.Context(), openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
		"-subj", "/CN=gantry", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	hash, err := bcrypt.GenerateFromPassword([]byte("open sesame"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	users := w.write("users", "ann:"+string(hash)+"\n")
	s := serveDisk(w, disk, "--tls-cert", cert, "--tls-key", key, "--htpasswd", users)
	if s.URL != "https://"+s.Address {
		t.Errorf("its URL is %s", s.URL)
	}
	certs := filepath.Join(t.TempDir(), "certs")
	if err := os.Mkdir(certs, 0o700); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(certs, "ca.crt"), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	login := func(password string) outcome {
		cmd := w.process(t.Context(), "login", "--authfile", w.path("auth.json"), "--cert-dir", certs, "-u", "ann", "--password-stdin", s.Address)
		cmd.Stdin = strings.NewReader(password)
		out, err := cmd.CombinedOutput()
		var ended *exec.ExitError
		if err != nil && !errors.As(err, &ended) {
			t.Fatal(err)
		}
		return outcome{string(out), "", cmd.ProcessState.ExitCode()}
	}
	if o := login("wrong"); o.code != exitUnauthorized {
		t.Errorf("a wrong password: %d\n%s", o.code, o.stdout)
	}
	if o := login("open sesame"); o.code != exitOK {
		t.Errorf("the right password: %d\n%s", o.code, o.stdout)
	}
	s.end(syscall.SIGTERM)
}

// TestServeRefuses checks that mistakes are reported before the program listens.
func TestServeRefuses(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	disk := "file://" + w.path("disk")
	w.must("mirror", "-c", w.path("imageset.yaml"), disk, "--volume-size", "0.75MB")
	bad := w.write("users", "ann:secret\n")
	for _, x := range []struct {
		code  int
		words []string
		args  []string
	}{
		{exitUsage, []string{"requires at least 1 arg"}, nil},
		{exitUsage, []string{"write file://DIR", w.path("disk")}, []string{w.path("disk")}},
		{exitUsage, []string{"write file://DIR"}, []string{"docker://mirror.example.com"}},
		{exitUsage, []string{"none"}, []string{"file://" + w.path("none")}},
		{exitUsage, []string{"--listen 0.0.0.0:0", "--tls-cert and --tls-key", "--plain-http"}, []string{disk, "--listen", "0.0.0.0:0"}},
		{exitUsage, []string{"--plain-http"}, []string{disk, "--listen", ":0"}},
		{exitUsage, []string{"--listen"}, []string{disk, "--listen", "nonsense"}},
		{exitUsage, []string{"TLS requires --tls-cert and --tls-key", "set both"}, []string{disk, "--tls-cert", bad}},
		{exitUsage, []string{"--tls-cert " + bad}, []string{disk, "--tls-cert", bad, "--tls-key", bad}},
		{exitUsage, []string{"--plain-http is for a registry without"}, []string{disk, "--tls-cert", bad, "--tls-key", bad, "--plain-http"}},
		{exitUsage, []string{"--htpasswd " + bad, "line 1", "htpasswd -B"}, []string{disk, "--htpasswd", bad}},
		{exitUsage, []string{"--htpasswd", "no such file"}, []string{disk, "--htpasswd", w.path("none")}},
		{exitUsage, []string{"--address is for the manifests"}, []string{disk, "--address", "bastion.example.com"}},
		{exitUsage, []string{"set --address to HOST:PORT", "--listen 0.0.0.0:0"}, []string{disk, "--listen", "0.0.0.0:0", "--plain-http", "--resources", w.path("manifests")}},
		{exitUsage, []string{"--address", "served without a prefix"}, []string{disk, "--listen", "127.0.0.1:0", "--resources", w.path("manifests"), "--address", "bastion.example.com/ocp"}},
		{exitUsage, []string{"--resources"}, []string{disk, "--listen", "127.0.0.1:0", "--resources", bad}},
		{exitUsage, []string{"a signature is required"}, []string{disk, "--require-signature"}},
	} {
		o := w.bare(append([]string{"serve"}, x.args...)...)
		if o.code != x.code || o.stdout != "" {
			t.Errorf("gantry serve %v ended with %d, want %d\n%s%s", x.args, o.code, x.code, o.stdout, o.stderr)
		}
		for _, word := range x.words {
			if !strings.Contains(o.stderr, word) {
				t.Errorf("gantry serve %v does not print %q:\n%s", x.args, word, o.stderr)
			}
		}
		if strings.Contains(o.stderr, "secret") {
			t.Errorf("it prints the password:\n%s", o.stderr)
		}
	}
	if err := os.Remove(w.path("disk/gantry-000001.0002.tar")); err != nil {
		t.Fatal(err)
	}
	if o := w.bare("serve", disk); o.code != exitMismatch || !strings.Contains(o.stderr, "gantry-000001.0002.tar") {
		t.Errorf("without a volume it ended with %d\n%s", o.code, o.stderr)
	}
}

// TestServeChain serves an archive that builds on another one: everything if both are given, and
// only its complete images and catalogs if the earlier one is absent.
func TestServeChain(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	w.must("mirror", "-c", w.path("imageset.yaml"), "file://"+w.path("one"))
	first, err := archive.Open(w.path("one"))
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	p, err := archivePlan(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	// The second archive lacks a related image of the acme catalog.
	i := slices.IndexFunc(p.Images, func(img plan.Image) bool {
		return img.Kind == plan.RelatedImage && img.Reasons[0].Catalog != "" && !slices.ContainsFunc(p.Images, func(other plan.Image) bool {
			return other.Digest == img.Digest && other.Source != img.Source
		})
	})
	if i < 0 {
		t.Fatal("no catalog names an image")
	}
	lacking := p.Images[i]
	base := &archive.Base{
		Sets:         []state.SetRef{first.Selected().SetRef},
		Has:          func(d digest.Digest) bool { return d == lacking.Digest },
		RepositoryOf: func(digest.Digest) string { return lacking.Repository },
	}
	index, err := mirror.IndexManifests(p)
	if err != nil {
		t.Fatal(err)
	}
	second, err := archive.Create(t.Context(), w.path("two"), archive.Content{Name: p.Name, Plan: p.Write, Index: index, Entries: mirror.Content(p)}, archive.Options{Base: base})
	if err != nil {
		t.Fatal(err)
	}
	for desc := range mirror.Content(p) {
		open := func(ctx context.Context, offset int64) (io.ReadCloser, error) {
			return first.Blob(ctx, "", desc, offset)
		}
		if err := second.PutBlob(t.Context(), "", ocispec.Descriptor{Digest: desc.Digest, Size: desc.Size}, open); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(second.Finish(t.Context()), second.Close()); err != nil {
		t.Fatal(err)
	}

	path := "/v2/" + lacking.Repository + "/manifests/" + lacking.Digest.String()
	both := serveDisk(w, "file://"+w.path("two"), "file://"+w.path("one"))
	if both.Images != len(p.Images) || len(both.NotServed) > 0 {
		t.Errorf("with both it reports %+v, of %d images", both.Served, len(p.Images))
	}
	both.get(path, http.StatusOK)
	both.end(os.Interrupt)

	alone := serveDisk(w, "file://"+w.path("two"))
	if diff := cmp.Diff([]string{lacking.Source}, alone.NotServed); diff != "" || alone.Images >= len(p.Images)-1 || alone.Images == 0 {
		t.Errorf("alone it reports %+v, of %d images (-want +got):\n%s", alone.Served, len(p.Images), diff)
	}
	alone.get(path, http.StatusNotFound)
	for _, img := range p.Images {
		want := http.StatusOK
		if img.Source == lacking.Source || img.Kind == plan.CatalogImage && slices.ContainsFunc(lacking.Reasons, func(b plan.Reason) bool { return b.Catalog == img.Catalog }) {
			want = http.StatusNotFound
		}
		alone.get("/v2/"+img.Repository+"/manifests/"+img.Tags[0], want)
	}
	alone.end(os.Interrupt)
}
