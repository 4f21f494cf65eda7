package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/bcrypt"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
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
	fail.On(t, err)
	fail.On(t, s.cmd.Start())
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
	before := w.tree("disk")
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
	w.sameResources("manifests", "bastion.example.com:8443")
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
	fail.Diff(t, before, w.tree("disk"))
	if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.addr); err == nil {
		conn.Close()
		t.Error("the server still listens")
	}
}

// sameResources compares the manifests for an address with the manifests that gantry mirror writes
// for the mirror, with the same name in mirror sets.
func (w *fixture) sameResources(dir, address string) {
	w.t.Helper()
	w.must("mirror", "--from", "file://"+w.path("disk"), w.docker(""), "--resource-name", "serve-imageset")
	want, got := map[string]string{}, w.tree(dir)
	delete(got, ".gantry-resources")
	for name, text := range w.tree("workspace/cluster-resources") {
		if !strings.Contains(name, "/") && got[name] != "" {
			want[name] = strings.ReplaceAll(text, w.mirror.Host, address)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 3 {
		w.t.Errorf("the manifests are not those of a mirror (-want +got):\n%s", diff)
	}
}

// TestServeGuarded serves an archive with TLS and passwords.
func TestServeGuarded(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	disk := "file://" + w.path("disk")
	w.must("mirror", "-c", w.config("store.yaml", storeOnly), disk)
	other := httptest.NewTLSServer(nil) // for its certificate, which its client trusts
	defer other.Close()
	pair := other.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	fail.On(t, err)
	hash, err := bcrypt.GenerateFromPassword([]byte("open sesame"), bcrypt.MinCost)
	fail.On(t, err)
	inPEM := func(name, kind string, text []byte) string {
		return w.write(name, string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: text})))
	}
	s := serveDisk(w, disk, "--tls-cert", inPEM("tls.crt", "CERTIFICATE", pair.Certificate[0]), "--tls-key", inPEM("tls.key", "PRIVATE KEY", key), "--htpasswd", w.write("users", "ann:"+string(hash)+"\n"))
	for password, want := range map[string]int{"wrong": http.StatusUnauthorized, "open sesame": http.StatusOK} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/v2/", http.NoBody)
		fail.On(t, err)
		req.SetBasicAuth("ann", password)
		answer, err := other.Client().Do(req)
		fail.On(t, err)
		_ = answer.Body.Close() // it was not read
		if answer.StatusCode != want || !strings.HasPrefix(s.URL, "https://") {
			t.Errorf("%s answers %q with %s", s.URL, password, answer.Status)
		}
	}
	s.end(syscall.SIGTERM)
}

// TestServeRefuses checks that an archive is refused that is not signed or not complete, and addresses that clusters cannot
// use. TestRefusedLines has the other flags.
func TestServeRefuses(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	disk := "file://" + w.path("disk")
	w.must("mirror", "-c", w.path("imageset.yaml"), disk, "--volume-size", "0.75MB")
	w.refuseLook(exitUsage, []string{"a signature is required"}, "serve", disk, "--require-signature")
	w.refuseLook(exitUsage, []string{"--listen 0.0.0.0:0", "--tls-cert and --tls-key", "--plain-http"}, "serve", disk, "--listen", "0.0.0.0:0")
	manifests := []string{"serve", disk, "--resources", w.path("manifests"), "--listen"}
	w.refuseLook(exitUsage, []string{"set --address to HOST:PORT", "--listen 0.0.0.0:0"}, append(manifests, "0.0.0.0:0", "--plain-http")...)
	w.refuseLook(exitUsage, []string{"--address", "served without a prefix"}, append(manifests, "127.0.0.1:0", "--address", "bastion.example.com/ocp")...)
	fail.On(t, os.Remove(w.path("disk/gantry-000001.0002.tar")))
	w.refuseLook(exitMismatch, []string{"gantry-000001.0002.tar"}, "serve", disk)
}
