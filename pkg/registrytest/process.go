package registrytest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/crypto/bcrypt"
	"sigs.k8s.io/yaml"
)

// How long a registry may take to start, and to stop when asked to.
const (
	startLimit = 30 * time.Second
	stopLimit  = 5 * time.Second
)

type processConfig struct {
	program string
	dir     string // storage, configuration, log
	auth    Auth
	// realm is the address of the token server and tokenRoots the file of the
	// certificates that its tokens are checked against.
	realm, tokenRoots string
	// address, if set, is "127.0.0.1:port" to listen on, for clients without a front; the log then
	// has a line for each request.
	address string
	sparse  bool // see Options
	// inMemory is a program whose only argument is the socket file.
	inMemory bool
}

// A process is a registry that listens on a socket file, so that no port can be taken between
// choosing and using it, or on an address.
type process struct {
	processConfig
	socketDir string // short: a socket's path is limited to some 100 bytes
	cmd       *exec.Cmd
	exited    chan struct{}
}

func newProcess(c processConfig) (*process, error) {
	socketDir, err := os.MkdirTemp("", "gantry")
	if err != nil {
		return nil, err
	}
	p := &process{processConfig: c, socketDir: socketDir}
	if err := p.writeConfig(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(socketDir))
	}
	return p, nil
}

func (p *process) socket() string  { return filepath.Join(p.socketDir, "s") }
func (p *process) config() string  { return filepath.Join(p.dir, "config.yml") }
func (p *process) logFile() string { return filepath.Join(p.dir, "registry.log") }

// storage is the folder with "blobs" and "repositories".
func (p *process) storage() string {
	return filepath.Join(p.dir, "storage", "docker", "registry", "v2")
}

func (p *process) writeConfig() error {
	type section = map[string]any
	config := section{
		"version": "0.1",
		"log":     section{"level": "error", "accesslog": section{"disabled": true}},
		"storage": section{
			"filesystem": section{"rootdirectory": filepath.Join(p.dir, "storage")},
			"delete":     section{"enabled": true},
		},
		"http": section{"net": "unix", "addr": p.socket(), "secret": "not a secret"},
	}
	if p.address != "" {
		config["log"] = section{"level": "error", "accesslog": section{"disabled": false}}
		config["http"] = section{"net": "tcp", "addr": p.address, "secret": "not a secret"}
	}
	if p.sparse {
		config["validation"] = section{"manifests": section{"indexes": section{"platforms": "none"}, "urls": section{"allow": []string{"^https://"}}}}
	}
	switch p.auth {
	case BasicAuth:
		hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
		if err != nil {
			return err
		}
		file := filepath.Join(p.dir, "htpasswd")
		if err := os.WriteFile(file, fmt.Appendf(nil, "%s:%s\n", username, hash), 0o600); err != nil {
			return err
		}
		config["auth"] = section{"htpasswd": section{"realm": "test", "path": file}}
	case TokenAuth:
		config["auth"] = section{"token": section{"realm": p.realm, "service": tokenService, "issuer": tokenIssuer, "rootcertbundle": p.tokenRoots}}
	case NoAuth:
	}
	text, err := yaml.Marshal(config)
	if err != nil {
		return err
	}
	return os.WriteFile(p.config(), text, 0o600)
}

// start runs the program and waits until it responds.
func (p *process) start(ctx context.Context) error {
	out, err := os.OpenFile(p.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	if err := os.Remove(p.socket()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	args := []string{"serve", p.config()}
	if p.inMemory {
		args = []string{p.socket()}
	}
	p.cmd = exec.CommandContext(context.WithoutCancel(ctx), p.program, args...) // stop ends it
	p.cmd.Dir = p.dir
	p.cmd.Stdout, p.cmd.Stderr = out, out
	// The environment must not change the configuration (REGISTRY_...) or enable traces.
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "OTEL_TRACES_EXPORTER=none"}
	bindToParent(p.cmd)
	p.exited = make(chan struct{})
	started := make(chan error, 1)
	go func() {
		// Linux kills the child when the thread that started it ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // the log contains the cause
		}
		close(p.exited)
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("starting %s: %w", p.program, err)
	}
	if err := p.awaitReady(ctx); err != nil {
		p.stop(true)
		return fmt.Errorf("waiting for %s: %w; its log ends with:\n%s", p.program, err, p.logTail())
	}
	return nil
}

func (p *process) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	client := &http.Client{Transport: p.transport()}
	defer client.CloseIdleConnections()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.exited:
			return errors.New("it ended")
		case <-tick.C:
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://registry/v2/", http.NoBody)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			continue
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusUnauthorized {
			return nil
		}
	}
}

// stop kills the process, or shuts it down cleanly.
func (p *process) stop(now bool) {
	if p.cmd == nil || p.cmd.Process == nil {
		return
	}
	if !now {
		endGroup(p.cmd, false)
		select {
		case <-p.exited:
			return
		case <-time.After(stopLimit):
		}
	}
	endGroup(p.cmd, true)
	<-p.exited
}

func (p *process) close() {
	p.stop(false)
	_ = os.RemoveAll(p.socketDir)
}

func (p *process) transport() *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			if p.address != "" {
				return d.DialContext(ctx, "tcp", p.address)
			}
			return d.DialContext(ctx, "unix", p.socket())
		},
		DisableCompression:  true,
		MaxIdleConnsPerHost: 32,
	}
}

// proxy forwards requests to the process with the host name that the client used, so that absolute
// addresses in responses have that name. With a namespace, the client sees only the repositories in
// it.
func (p *process) proxy(namespace string) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "registry"
			r.Out.Host = r.In.Host
			r.SetXForwarded()
			enterNamespace(r.Out, namespace)
		},
		ModifyResponse: func(resp *http.Response) error { return leaveNamespace(resp, namespace) },
		Transport:      p.transport(),
		ErrorLog:       discardLogger(),
		ErrorHandler:   func(w http.ResponseWriter, _ *http.Request, _ error) { resetConnection(w) },
	}
}

func (p *process) logTail() string {
	text, err := os.ReadFile(p.logFile())
	if err != nil {
		return err.Error()
	}
	return string(lastBytes(text, 4000))
}
