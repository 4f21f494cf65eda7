package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// A guard is in front of a registry. It requires a token, for a password, and redirects to blobs with
// a signed address. Each error repeats what was sent, as a debugging proxy does.
type guard struct {
	host, password, token, signature string
	fails                            atomic.Bool            // every push
	away                             atomic.Pointer[string] // where blobs and uploads are, in place of the registry
	next                             http.Handler
}

func newGuard(t *testing.T, s *registrytest.Server, password, token, signature string) *guard {
	t.Helper()
	to := &url.URL{Scheme: "http", Host: s.Host}
	quiet := log.New(io.Discard, "", 0) // about requests that were canceled
	g := &guard{password: password, token: token, signature: signature, next: &httputil.ReverseProxy{ErrorLog: quiet, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
		r.Out.Header.Del("Authorization")
	}}}
	front := httptest.NewServer(g)
	t.Cleanup(front.Close)
	g.host = front.Listener.Addr().String()
	return g
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int) {
		_, password, _ := r.BasicAuth()
		authorization := r.Header.Get("Authorization")
		_, encoded, _ := strings.Cut(authorization, " ")
		text := fmt.Sprintf("%s of http://%s%s, password %s, %s", authorization, r.Host, r.URL, password, encoded)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"errors": []any{map[string]string{"code": "DENIED", "message": text, "detail": text}}})
	}
	blob := r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/sha256:")
	switch {
	case r.URL.Path == "/token":
		if user, password, _ := r.BasicAuth(); user != "robot" || password != g.password {
			refuse(http.StatusUnauthorized)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"token": g.token})
	case blob && r.URL.Query().Get("X-Amz-Signature") == g.signature:
		if g.fails.Load() {
			refuse(http.StatusForbidden)
			return
		}
		g.next.ServeHTTP(w, r)
	case r.Header.Get("Authorization") != "Bearer "+g.token:
		w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+g.host+`/token",service="guard"`)
		refuse(http.StatusUnauthorized)
	case g.away.Load() != nil && (blob || r.Method == http.MethodPost):
		w.Header().Set("Location", *g.away.Load())
		w.WriteHeader(map[bool]int{true: http.StatusTemporaryRedirect, false: http.StatusAccepted}[blob])
	case g.fails.Load() && r.Method == http.MethodPut:
		refuse(http.StatusForbidden)
	case blob:
		http.Redirect(w, r, r.URL.Path+"?X-Amz-Signature="+g.signature, http.StatusTemporaryRedirect)
	default:
		g.next.ServeHTTP(w, r)
	}
}

// A sweep looks for secrets in all that the program writes.
type sweep struct {
	*fixture
	secrets map[string]string // what each is
	n       int
}

// secret returns a value that must not be found later, neither as it is nor in base64.
func (s *sweep) secret(what string) string {
	value := fmt.Sprintf("Zq%dVx%sWj", len(s.secrets)+100, strings.Repeat("k7", 6))
	s.secrets[value] = what
	return value
}

// find reports the secrets in a text.
func (s *sweep) find(where, text string) {
	s.t.Helper()
	for value, what := range s.secrets {
		forms := []string{value}
		for i := range 3 { // the bits of the first and the last character belong to others, too
			padded := strings.Repeat("x", i) + value
			encoded := base64.RawStdEncoding.EncodeToString([]byte(padded[:len(padded)/3*3]))
			forms = append(forms, encoded[4*min(i, 1):])
		}
		for _, form := range forms {
			if at := strings.Index(text, form); at >= 0 {
				s.t.Errorf("%s has the %s:\n%s", where, what, text[max(0, at-300):min(len(text), at+100)])
			}
		}
	}
	for _, key := range []string{"AGE-SECRET-KEY-1", "PRIVATE KEY-----"} {
		if strings.Contains(text, key) {
			s.t.Errorf("%s has a key", where)
		}
	}
}

// anyExit is an exit status that does not matter.
const anyExit = -2

// run runs the program, with a log of everything, and checks its output.
func (s *sweep) run(code int, stdin string, args ...string) outcome {
	s.t.Helper()
	s.n++
	full := append(slices.Clone(args), "--log-file", s.path(fmt.Sprintf("log-%d", s.n)), "--log-level", "trace")
	if args[0] == "__complete" || args[0] == "completion" || args[0] == "login" {
		full = args
	} else if !slices.Contains([]string{"config", "archive", "list"}, args[0]) {
		full = append(full, "--workspace", s.path("workspace"))
	}
	var stdout, stderr bytes.Buffer
	a := &app{stdout: &stdout, stderr: &stderr, env: s.env}
	root := a.command(named(full))
	root.SetArgs(full)
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	got := a.finish(root.ExecuteContext(s.t.Context()))
	if code >= 0 && got != code || code == -1 && got == exitOK {
		s.t.Errorf("gantry %q ended with %d, want %d\n%s%s", args, got, code, &stdout, &stderr)
	}
	s.find(fmt.Sprintf("stdout of gantry %q", args), stdout.String())
	s.find(fmt.Sprintf("stderr of gantry %q", args), stderr.String())
	return outcome{stdout.String(), stderr.String(), got}
}

// files checks all files of the fixture but those in the folder of the inputs, also the compressed ones
// and those in volumes. It returns how many there are, and how many plans in volumes.
func (s *sweep) files() (n, plans int) {
	s.t.Helper()
	err := filepath.WalkDir(s.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			if err == nil && e.Name() == "in" {
				return fs.SkipDir
			}
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		s.find(path, path)
		if strings.HasSuffix(path, ".uploads.txt") {
			// The next run needs the addresses of open uploads, to cancel them. Other users cannot read it.
			if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
				s.t.Errorf("%s: %v, %v", path, info, err)
			}
			for value, what := range s.secrets {
				if what != "secret of a location" && strings.Contains(string(data), value) {
					s.t.Errorf("%s has the %s", path, what)
				}
			}
			return nil
		}
		n++
		if filepath.Ext(path) == ".tar" {
			for r := tar.NewReader(bytes.NewReader(data)); ; {
				h, err := r.Next()
				if err != nil {
					if errors.Is(err, io.EOF) {
						return nil
					}
					return err
				}
				entry, err := io.ReadAll(r)
				if err != nil {
					return err
				}
				text := string(entry) + unzipped(entry)
				if strings.Contains(text, zooRef) {
					plans++
				}
				s.find(path+":"+h.Name, text)
			}
		}
		s.find(path, string(data)+unzipped(data))
		return nil
	})
	fail.On(s.t, err)
	return n, plans
}

// unzipped returns what gzip compressed, or nothing.
func unzipped(data []byte) string {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return ""
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return ""
	}
	return string(text)
}

// TestSecretsInNoOutput gives the program a secret wherever one can be given, runs it with and without
// success, and looks for them in everything that it writes.
func TestSecretsInNoOutput(t *testing.T) {
	t.Parallel()
	long(t)
	s := &sweep{fixture: newCatalogFixture(t), secrets: map[string]string{}}
	source := newGuard(t, s.source, s.secret("source's password"), s.secret("source's token"), s.secret("signature of the storage"))
	mirror := newGuard(t, registrytest.New(t, registrytest.Options{}), s.secret("mirror's password"), s.secret("mirror's token"), s.secret("signature of the mirror's storage"))
	s.mkdir("in")
	auth := func(name, host, password string) string {
		both := base64.StdEncoding.EncodeToString([]byte("robot:" + password))
		return s.write(name, `{"auths":{"`+host+`":{"auth":"`+both+`"}}}`)
	}
	s.write("registries.conf", strings.ReplaceAll(s.read("registries.conf"), s.source.Host, source.host))
	s.env["REGISTRY_AUTH_FILE"] = auth("in/source.json", source.host, source.password)
	s.env["HTTPS_PROXY"] = "http://me:" + s.secret("proxy's password") + "@" + closedPort(t)
	s.env[updates.UpdateURLVariable] = "http://" + closedPort(t) + "/graph?token=" + s.secret("update service's token")
	s.env["CLOUD_SECRET"] = s.secret("variable")
	keyPhrase, signPhrase := s.secret("identity's passphrase"), s.secret("signing key's passphrase")
	identity, recipient := s.ageKey("in/age", keyPhrase)
	signer, _ := s.site().SSHKey("in/sign", signPhrase)
	reading := []string{"--identity", identity, "--identity-passphrase-file", s.write("in/phrase", keyPhrase+"\n"), "--verify-key", s.path("in/sign.pub")}
	signing := []string{"--sign-key", signer, "--sign-passphrase-file", s.write("in/signphrase", signPhrase+"\n")}
	dest := []string{"--dest-authfile", auth("in/mirror.json", mirror.host, mirror.password), "--retry-times", "0"}
	isc, to, disk, plain := s.config("one.yaml", oneOfZoo), "docker://"+mirror.host, "file://"+s.path("disk"), "file://"+s.path("plain")
	with := func(flags []string, args ...string) []string { return append(args, flags...) }

	s.run(exitOK, "", with(dest, "plan", "-c", isc, to, "--lock", s.path("plan.json"), "-o", "json")...)
	s.run(exitOK, "", with(append(signing, "--encrypt-to", recipient), "mirror", "-c", isc, disk)...)
	s.run(exitOK, "", "mirror", "-c", isc, plain, "--full", "-o", "json")
	s.run(exitOK, "", with(dest, "mirror", "-c", isc, to+"/direct", "--progress", "json", "--failures", s.path("none.jsonl"))...)
	s.run(exitOK, "", with(append(dest, reading...), "mirror", "--from", disk, to+"/from", "--write-receipt", s.path("receipt"))...)
	s.run(exitOK, "", with(dest, "verify", "-c", isc, to+"/direct", "-o", "json")...)
	s.run(exitOK, "", with(reading, "verify", disk)...)
	for _, args := range [][]string{
		{"config", "check", isc, "-o", "json"}, {"list", "operators", "--catalog", zooRef}, {"catalog", "render", zooRef}, {"graph", zooRef, "otter", "-o", "json"},
		{"status", "-o", "json"}, {"explain", "-c", isc, zooRef}, {"archive", "inspect", plain}, {"completion", "bash"},
	} {
		s.run(exitOK, "", args...)
	}

	// Failures, with servers that repeat what they were sent.
	mirror.fails.Store(true)
	s.run(-1, "", with(dest, "mirror", "-c", isc, to+"/failed", "-o", "json", "--failures", s.path("failed.jsonl"))...)
	s.run(-1, "", with(dest, "mirror", "-c", isc, to+"/failed", "-v", "--log-format", "json")...)
	source.fails.Store(true)
	s.run(-1, "", "plan", "-c", isc, "--cache-dir", s.path("fresh"))
	s.run(-1, "", "mirror", "-c", isc, "file://"+s.path("other"), "--cache-dir", s.path("fresh"), "--failures", s.path("source.jsonl"))
	mirror.fails.Store(false)
	for _, to := range []string{"http://me:%s@%s/a", "http://%[2]s/a?X-Amz-Signature=%[1]s", "https://%[2]s/a?sig=%[1]s", "ftp://me:%s@%s/a", "http://%s:x@[%s/a", "http://169.254.169.254/a?token=%s#%s"} {
		away := fmt.Sprintf(to, s.secret("secret of a location"), closedPort(t))
		source.away.Store(&away)
		mirror.away.Store(&away)
		s.run(-1, "", "mirror", "-c", isc, "file://"+s.path("other"), "--cache-dir", s.path("fresh"), "--retry-times", "0")
		s.run(-1, "", with(dest, "mirror", "--plan", s.path("plan.json"), "docker://"+mirror.host+"/away", "--failures", s.path("away.jsonl"))...)
	}
	mirror.away.Store(nil)
	wrong := s.secret("wrong password")
	s.run(exitUnauthorized, "", "mirror", "-c", isc, to+"/wrong", "--dest-authfile", auth("in/wrong.json", mirror.host, wrong))
	s.run(exitUnauthorized, wrong, "login", "-u", "robot", "--password-stdin", mirror.host)
	s.run(exitOK, mirror.password, "login", "-u", "robot", "--password-stdin", mirror.host, "--authfile", s.path("in/login.json"))
	s.run(-1, "", "list", "releases", "--version", "4.20", "--retry-times", "0")
	s.run(-1, "", "list", "operators", "--catalog", "registry.far.example/a:v1", "--retry-times", "0") // through the proxy
	s.run(-1, "", with(append(signing[:2:2], "--sign-passphrase-file", s.write("in/bad", s.secret("wrong passphrase")+"\n")), "mirror", "-c", isc, plain)...)
	s.run(-1, "", with([]string{"--identity", identity, "--identity-passphrase-file", s.path("in/bad")}, "mirror", "--from", disk, to)...)

	// Secrets in the wrong place.
	key := strings.Replace(keyPhrase, "Zq", "AGE-SECRET-KEY-1Q", 1)
	s.secrets[key] = "key given as a flag"
	s.run(-1, "", "mirror", "-c", isc, plain, "--encrypt-to", key)
	s.run(-1, "", "mirror", "-c", isc, plain, "--encrypt-to", s.write("in/key", key+"\n"))
	s.run(-1, "", "mirror", "--from", disk, to, "--identity", s.path("in/key"))
	s.run(exitUsage, "", "mirror", "--from", disk, to, "--identity", key)
	s.run(-1, "", "mirror", "-c", isc, plain, "--sign-key", s.path("in/phrase"))
	s.run(-1, "", "mirror", "-c", isc, plain, "--verify-key", s.path("in/phrase"), "--allowed-signers", s.path("in/phrase"))
	s.run(-1, "", "mirror", "-c", s.path("in/phrase"), plain)
	s.run(-1, "", "mirror", "--plan", s.path("in/phrase"), plain)
	s.run(-1, "", "plan", "-c", isc, "--limits", s.path("in/phrase"))
	s.run(-1, "", "plan", "-c", isc, "--release-key", s.path("in/phrase"), "--installed", s.path("in/phrase"))
	s.run(-1, "", "serve", plain, "--tls-cert", s.path("in/phrase"), "--tls-key", s.path("in/phrase"))
	s.run(-1, "", "serve", plain, "--htpasswd", s.path("in/phrase"))
	s.run(-1, "", "mirror", "--from", disk, to, "--verify-key", signer)
	for i, text := range []string{`{"auths":{"a.example":{"auth":"%s"}}}`, `{"auths":{"a.example":{"auth":%s}}}`, `%s`, `{"auths":{"a.example":"%s"}}`} {
		file := s.write(fmt.Sprintf("in/auth%d.json", i), fmt.Sprintf(text, s.secret("text of an authfile")))
		s.run(-1, "", "list", "operators", "--catalog", "a.example/b:v1", "--authfile", file, "--retry-times", "0")
	}

	// Addresses.
	userinfo, token := "me:"+s.secret("password of an address")+"@mirror.example/a", "mirror.example/a?token="+s.secret("token of an address")
	for i, address := range []string{userinfo, token} {
		for j, stanza := range []string{
			"additionalImages: [{name: '%s'}]", "operators: [{catalog: '%s'}]", "platform: {updateService: 'https://%s', channels: [{name: stable-4.20}]}",
			"platform: {signatureStores: ['https://%s'], channels: [{name: stable-4.20}]}", "additionalImages: [{name: 'quay.example/a:v1'}]\n  blockedImages: [{name: '%s'}]",
			"additionalImages: [{name: 'quay.example/a:v1'}]\n  helm: {repositories: [{name: a, url: 'https://%s', charts: [{name: b}]}]}",
			"additionalImages: [{name: 'quay.example/a:v1'}]\n  helm: {local: [{name: a, path: 'https://%s'}]}",
			"operators: [{catalog: 'quay.example/a:v1', targetCatalog: '%s', targetCatalogSourceTemplate: '%[1]s', targetClusterCatalogTemplate: '%[1]s'}]",
			"operators: [{catalog: 'quay.example/a:v1', originCatalog: '%s'}]",
			"additionalImages: [{name: 'quay.example/a:v1', targetRepo: '%s'}]", "additionalImages: ['%s']", "'%s': 1", "operators: '%s'",
			"operators: [{catalog: 'oci://%s'}]", "platform: {release: '%s'}",
		} {
			file := s.config(fmt.Sprintf("in/%d-%d.yaml", i, j), "  "+fmt.Sprintf(stanza, address)+"\n")
			if i == j%2 { // each field once in either way, to save time
				s.run(-1, "", "plan", "-c", file, "--retry-times", "0")
				s.run(anyExit, "", "config", "check", "--strict", file)
				continue
			}
			s.run(anyExit, "", "config", "check", "-o", "json", file)
			s.run(-1, "", "mirror", "-c", file, "file://"+s.path("refused"), "--retry-times", "0", "-o", "json")
		}
		s.run(-1, "", "mirror", "-c", isc, "docker://"+address)
		s.run(-1, "", "mirror", "-c", isc, address)
		s.run(-1, "", "mirror", "-c", address, to)
		s.run(-1, "", "mirror", "--from", address, to)
		s.run(-1, "", "mirror", "--plan", address, to)
		s.run(-1, "", "verify", address)
		s.run(-1, "", "verify", "-c", isc, "docker://"+address)
		s.run(-1, "", "check", address, "--installed", s.path("csv.json"))
		s.run(-1, "", "check", "--platform", "docker://"+address, "--from", "4.18.1", "--to", "4.18.2")
		s.run(-1, "", "list", "operators", "--catalog", address)
		s.run(-1, "", "catalog", "render", address)
		s.run(-1, "", "explain", "-c", isc, address)
		s.run(-1, "", "status", address)
		s.run(-1, "", "archive", "inspect", address)
		s.run(-1, "", "login", "-u", "me", "--password-stdin", address)
		s.run(-1, "", address)
		s.run(-1, "", "graph", address, "otter")
		s.run(exitOK, "", "__complete", "mirror", "docker://"+address)
		s.run(exitOK, "", "__complete", "mirror", "-c", address, "")
	}
	for _, line := range []string{
		"-c one.yaml docker://%s --v2", "--config=%s file://x", "--from docker://%s docker://a.example", "list operators --catalog=%s", "--%s", "delete --delete-yaml-file %s docker://%[1]s",
		"describe %s", "--include-config x docker://%s", "-c %s --workspace https://%[1]s docker://a.example",
	} {
		s.find("oc-mirror "+line, fmt.Sprint(s.ocMirror(strings.Fields(fmt.Sprintf(line, token))...), s.ocMirror(strings.Fields(fmt.Sprintf(line, userinfo))...)))
	}
	s.run(exitOK, "", "status")
	s.run(exitOK, "", "status", "-o", "json")
	if n, plans := s.files(); n < 60 || plans == 0 {
		t.Errorf("only %d files and %d plans in archives were read", n, plans)
	}
}
