package sshsig

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh/agent"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestFixtures verifies signatures made by ssh-keygen. It does not need ssh-keygen.
func TestFixtures(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"ed25519", "ecdsa", "rsa"} {
		public, err := os.ReadFile(filepath.Join("testdata", kind+".pub"))
		fail.On(t, err)
		armored, err := os.ReadFile(filepath.Join("testdata", kind+".sig"))
		fail.On(t, err)
		signers, err := ParsePublicKeys(public)
		fail.On(t, err)
		if who, err := signers.Verify(armored, namespace, strings.NewReader("content"), "", time.Now()); err != nil || who.Principal != "ops@example.com" {
			t.Errorf("%s is of %v: %v", kind, who, err)
		}
	}
}

// startAgent starts an agent with keys and returns its socket.
func startAgent(t *testing.T, keys ...any) string {
	t.Helper()
	ring := agent.NewKeyring()
	for _, k := range keys {
		fail.On(t, ring.Add(agent.AddedKey{PrivateKey: k}))
	}
	l := listen(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = agent.ServeAgent(ring, conn) }() // ends with the connection
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String()
}

// listen listens on a new socket.
func listen(t *testing.T) net.Listener {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent") //nolint:usetesting // a socket's path has to be short
	fail.On(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(dir, "s"))
	fail.On(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// TestAgent signs with keys of an agent.
func TestAgent(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			key := makeKey(t, kind)
			file, public := writeKey(t, key, "secret")
			socket := startAgent(t, key)
			signers, err := ParsePublicKeys(public)
			fail.On(t, err)
			// The key is encrypted in the file, and the agent has it.
			for _, named := range []string{file, file + ".pub"} {
				armored := sign(t, open(t, named, KeyOptions{Agent: socket}), "content")
				if _, err := signers.Verify(armored, namespace, strings.NewReader("content"), "", time.Now()); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestPassphrase checks that a passphrase is requested once, and only if needed.
func TestPassphrase(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("deriving keys is slow with the race detector")
	}
	key := makeKey(t, "ed25519")
	locked, _ := writeKey(t, key, "secret")
	plain, _ := writeKey(t, key, "")
	answer := func(text string, err error, asked *int) func(context.Context, string) ([]byte, error) {
		return func(_ context.Context, file string) ([]byte, error) {
			if *asked++; file != locked {
				t.Errorf("a passphrase was requested for %s", file)
			}
			return []byte(text), err
		}
	}
	closed := errors.New("the terminal was closed")
	for name, tc := range map[string]struct {
		file, answer string
		err          error
		asked        int
		want         string
	}{
		"right":     {locked, "secret", nil, 1, ""},
		"wrong":     {locked, "Secret", nil, 1, "the passphrase is wrong"},
		"no answer": {locked, "", closed, 1, "terminal was closed"},
		"not asked": {plain, "", nil, 0, ""},
	} {
		asked := 0
		k, err := OpenKey(t.Context(), tc.file, KeyOptions{Passphrase: answer(tc.answer, tc.err, &asked)})
		if asked != tc.asked || tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: asked %d times, %v", name, asked, err)
		}
		if tc.want == "" {
			sign(t, k, "content")
		}
	}
	if _, err := OpenKey(t.Context(), locked, KeyOptions{}); !errors.Is(err, ErrPassphrase) {
		t.Errorf("without a passphrase function: %v", err)
	}
	// If the agent does not have the key, the passphrase is requested.
	asked := 0
	if k, err := OpenKey(t.Context(), locked, KeyOptions{Agent: startAgent(t), Passphrase: answer("secret", nil, &asked)}); err != nil || asked != 1 {
		t.Errorf("asked %d times, %v, %v", asked, k, err)
	}
}

// TestKeyRefused checks files that are not signing keys.
func TestKeyRefused(t *testing.T) {
	t.Parallel()
	open, public := writeKey(t, makeKey(t, "ed25519"), "")
	fail.On(t, os.Chmod(open, 0o640))
	for name, tc := range map[string]struct{ file, agent, want string }{
		"others can read it":         {open, "", "chmod 600"},
		"not there":                  {filepath.Join(t.TempDir(), "key"), "", "no such file"},
		"a folder":                   {t.TempDir(), "", "directory"},
		"not a key":                  {write(t, "key", []byte("hello\n")), "", "not a usable private key"},
		"empty":                      {write(t, "key", nil), "", "not a usable private key"},
		"large":                      {write(t, "key", make([]byte, maxKey+1)), "", "not a key"},
		"public, no agent":           {write(t, "key.pub", public), "", "SSH_AUTH_SOCK"},
		"public, agent without it":   {write(t, "key.pub", public), startAgent(t, makeKey(t, "ecdsa256")), "ssh-add"},
		"public, agent is not there": {write(t, "key.pub", public), filepath.Join(t.TempDir(), "s"), "asking the ssh-agent"},
		"small RSA":                  {write(t, "key.pub", []byte(smallRSA)), startAgent(t), "1024 bits"},
		"DSA":                        {write(t, "key.pub", []byte(dsaKey)), startAgent(t), "ssh-dss"},
	} {
		if _, err := OpenKey(t.Context(), tc.file, KeyOptions{Agent: tc.agent}); err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), tc.file) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// TestAgentThatWaits checks that signing ends with the context if the agent does not respond.
func TestAgentThatWaits(t *testing.T) {
	t.Parallel()
	file, _ := writeKey(t, makeKey(t, "ed25519"), "")
	l := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		cancel()
		_, _ = conn.Read(make([]byte, 1024))
		_, _ = conn.Read(make([]byte, 1024)) // until the client disconnects
		_ = conn.Close()
	}()
	if _, err := OpenKey(ctx, file+".pub", KeyOptions{Agent: l.Addr().String()}); !errors.Is(err, context.Canceled) {
		t.Errorf("an agent that does not respond: %v", err)
	}
}

// TestAgentGoesAway checks that signing fails after the agent stopped.
func TestAgentGoesAway(t *testing.T) {
	t.Parallel()
	key := makeKey(t, "ed25519")
	file, _ := writeKey(t, key, "")
	ring := agent.NewKeyring()
	fail.On(t, ring.Add(agent.AddedKey{PrivateKey: key}))
	l := listen(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 2 { // to find the key, and to sign once
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = agent.ServeAgent(ring, conn) // ends with the connection
		}
		_ = l.Close()
	}()
	k := open(t, file+".pub", KeyOptions{Agent: l.Addr().String()})
	sign(t, k, "content")
	<-done
	if _, err := k.Sign(t.Context(), namespace, strings.NewReader("content")); err == nil || !strings.Contains(err.Error(), "ssh-agent") {
		t.Errorf("the agent has stopped, and signing ended with %v", err)
	}
}
