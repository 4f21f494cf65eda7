// Package registrytest gives tests registries and content to fill them with.
//
// Two kinds of registry come behind one front. Start runs a real CNCF
// distribution registry as a process of its own; New serves one from memory
// inside the test. Clients see the same in both cases: an address on loopback,
// plain http or TLS with a private CA, a log of every request, and a script of
// faults that can be changed while the registry runs.
//
//	client -> [ TLS -> log -> faults ] -> distribution process, or memory
//
// What is pushed is made here too: layers, images, multi-platform indexes,
// bundle and catalog images whose bytes depend on their names alone, and the
// Sample, two small operator catalogs with everything that they name. Client
// pushes and pulls without any of Gantry's own code, so that what Gantry
// copied can be checked by something that does not share its mistakes.
//
// The package is for tests and demonstrations. The program that is shipped
// never links it; a test in cmd/gantry holds that.
package registrytest

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Auth is how a registry asks who its client is.
type Auth int

// The ways a registry may ask.
const (
	NoAuth    Auth = iota
	BasicAuth      // the Basic scheme, from an htpasswd file
	TokenAuth      // the Bearer scheme, with tokens from a server of its own
)

// The one account of a registry that asks.
const (
	username = "gantry"
	password = "air-gap-0451"
)

// Options say what a registry is like. The zero value is plain http, open to
// everybody and without faults.
type Options struct {
	TLS  bool
	Auth Auth // Start only
	// TokenLifetime is how long a token of TokenAuth is accepted; 0 is a minute.
	TokenLifetime time.Duration
	// Storage, where set, is a folder that Keep wrote: the registry begins with a
	// copy of it. Start only.
	Storage string
	// Sparse takes indexes some of whose images are not there. Start only.
	Sparse bool
	// Rules are the faults to begin with; Script replaces them.
	Rules []Rule
}

// A Server is a registry for one test, on loopback. It ends with the test.
type Server struct {
	// Host is the registry's "127.0.0.1:port". It stays through Restart.
	Host string
	// CAFile is the PEM file of the CA that signed the certificate, and CertDir
	// a folder in the form of /etc/containers/certs.d that names it; both are ""
	// without TLS.
	CAFile, CertDir string
	// Username and Password are what the registry accepts, and AuthFile is a
	// containers-auth.json that says so; all are "" without Auth.
	Username, Password, AuthFile string

	t       testing.TB
	tls     *tls.Config // as a client needs it; nil without TLS
	log     *requestLog
	script  *script
	front   *front
	process *process // nil for New
}

// New serves a registry from Memory. It starts at once and needs no program.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Auth != NoAuth {
		t.Fatal("registrytest: a registry in memory does not ask for credentials: use Start")
	}
	if o.Storage != "" {
		t.Fatal("registrytest: a registry in memory cannot begin with files: use Start")
	}
	s, ca := prepare(t, o)
	s.begin(ca, Memory())
	s.writeCertDir(ca, s.Host)
	return s
}

// Serve puts any server of http behind the same front: its log, its faults, TLS.
// What is about registries alone (Client, Restart) does not fit such a server.
func Serve(t testing.TB, o Options, h http.Handler) *Server {
	t.Helper()
	if o.Auth != NoAuth || o.Storage != "" {
		t.Fatal("registrytest: credentials and storage are a registry's: use Start")
	}
	s, ca := prepare(t, o)
	s.begin(ca, h)
	s.writeCertDir(ca, s.Host)
	return s
}

// URL is the server's address with its scheme, "http://127.0.0.1:port".
func (s *Server) URL() string { return s.url(s.Host) }

// Start runs a real registry, with its storage in a temporary folder and
// deletion enabled. The program is the one that $GANTRY_TEST_REGISTRY names, or
// is built once from the project's tools module and kept in the user's cache
// folder, or is found in PATH as docker-registry or registry.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s, ca := prepare(t, o)
	program, err := findProgram(t.Context())
	if err != nil {
		t.Fatalf("registrytest: %v", err)
	}
	settings := processConfig{program: program, dir: TempDir(t), auth: o.Auth, sparse: o.Sparse}
	if o.Auth != NoAuth {
		s.Username, s.Password = username, password
	}
	var tokenHost string
	if o.Auth == TokenAuth {
		ts, err := newTokenServer(ca, o.TokenLifetime)
		if err != nil {
			t.Fatalf("registrytest: %v", err)
		}
		tokenHost = s.serve(ca, ts).host()
		settings.realm = s.url(tokenHost) + "/token"
		settings.tokenRoots = filepath.Join(settings.dir, "token-roots.pem")
		if err := os.WriteFile(settings.tokenRoots, ca.pem, 0o600); err != nil {
			t.Fatalf("registrytest: %v", err)
		}
	}
	if s.process, err = newProcess(settings); err != nil {
		t.Fatalf("registrytest: %v", err)
	}
	if o.Storage != "" {
		if err := copyStorage(s.process.storage(), o.Storage); err != nil {
			t.Fatalf("registrytest: filling the registry: %v", err)
		}
	}
	t.Cleanup(func() {
		s.process.close()
		if t.Failed() {
			t.Logf("the end of the registry's log:\n%s", s.process.logTail())
		}
	})
	if err := s.process.start(t.Context()); err != nil {
		t.Fatalf("registrytest: %v", err)
	}
	s.begin(ca, s.process.proxy())
	s.writeCertDir(ca, s.Host, tokenHost)
	s.writeAuthFile()
	return s
}

// Client returns a client that trusts the registry and has its credentials.
func (s *Server) Client() *Client {
	c := NewClient(s.Host)
	c.http.Transport = &http.Transport{TLSClientConfig: s.tls}
	if s.tls != nil {
		c.scheme = "https"
	}
	c.username, c.password = s.Username, s.Password
	return c
}

func prepare(t testing.TB, o Options) (*Server, *authority) {
	t.Helper()
	s := &Server{t: t, log: &requestLog{}, script: &script{}}
	s.script.set(o.Rules)
	if !o.TLS && o.Auth != TokenAuth {
		return s, nil
	}
	ca, err := newAuthority()
	if err != nil {
		t.Fatalf("registrytest: %v", err)
	}
	if o.TLS {
		s.tls = &tls.Config{RootCAs: ca.pool(), MinVersion: tls.VersionTLS12}
	}
	return s, ca
}

func (s *Server) url(host string) string {
	if s.tls != nil {
		return "https://" + host
	}
	return "http://" + host
}

func (s *Server) writeCertDir(ca *authority, hosts ...string) {
	s.t.Helper()
	if s.tls == nil {
		return
	}
	s.CertDir = s.t.TempDir()
	for _, h := range hosts {
		if h == "" {
			continue
		}
		dir := filepath.Join(s.CertDir, h)
		if err := os.Mkdir(dir, 0o700); err != nil {
			s.t.Fatalf("registrytest: %v", err)
		}
		s.CAFile = filepath.Join(s.CertDir, hosts[0], "ca.crt")
		if err := os.WriteFile(filepath.Join(dir, "ca.crt"), ca.pem, 0o600); err != nil {
			s.t.Fatalf("registrytest: %v", err)
		}
	}
}

func (s *Server) writeAuthFile() {
	s.t.Helper()
	if s.Username == "" {
		return
	}
	type entry struct {
		Auth string `json:"auth"`
	}
	text, err := json.Marshal(map[string]map[string]entry{"auths": {
		s.Host: {Auth: base64.StdEncoding.EncodeToString([]byte(s.Username + ":" + s.Password))},
	}})
	if err != nil {
		s.t.Fatalf("registrytest: %v", err)
	}
	s.AuthFile = filepath.Join(s.t.TempDir(), "auth.json")
	if err := os.WriteFile(s.AuthFile, text, 0o600); err != nil {
		s.t.Fatalf("registrytest: %v", err)
	}
}
