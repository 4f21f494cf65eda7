//go:build unix

package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// TestExposedFiles checks that files with credentials and TLS keys that others can read are reported.
func TestExposedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		file := filepath.Join(dir, name)
		fail.On(t, os.WriteFile(file, []byte(text), 0o600))
		fail.On(t, os.Chmod(file, mode))
		return file
	}
	secret := `{"auths":{"quay.io":{"auth":"YTpi"}}}`
	var warned []string
	e := &env.Env{Home: dir, Registries: env.Registries{RetryTimes: -1}, Getenv: func(string) string { return "" }, Warn: func(text string) { warned = append(warned, text) }}
	for _, file := range []string{write("private.json", secret, 0o600), write("helpers.json", `{"credHelpers":{"quay.io":"x"}}`, 0o644), write("shared.json", secret, 0o644)} {
		_, err := e.Keys(env.Side{AuthFile: file}, remote.Source)
		fail.On(t, err)
	}
	key := write("tls.key", "", 0o640)
	if _, err := certificate(e, &Options{TLSCert: key, TLSKey: key}); err == nil {
		t.Error("an empty key was accepted")
	}
	for i, key := range []string{"private/ours.key", "tls/ours.key"} {
		certPEM, keyPEM := clientPair(t)
		fail.On(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(key)), 0o700))
		file := write(key, keyPEM, 0o600|os.FileMode(i)*0o044)
		write(strings.TrimSuffix(key, "key")+"cert", certPEM, 0o644)
		e.CertDir = filepath.Dir(file)
		for range 2 { // every client reads it
			c, err := e.Client(remote.Source)
			fail.On(t, err)
			ref, err := reference.Parse("127.0.0.1:1/a")
			fail.On(t, err)
			_, _ = c.Tags(t.Context(), ref, 1) // no registry is there
		}
	}
	hint := ", which has a secret: run chmod 600 on it"
	want := []string{fmt.Sprintf("others can read %s/shared.json (mode 0644)", dir) + hint, fmt.Sprintf("others can read %s (mode 0640)", key) + hint, fmt.Sprintf("others can read %s/tls/ours.key (mode 0644)", dir) + hint}
	fail.Diff(t, want, warned)
}

// clientPair returns a certificate and its key.
func clientPair(t *testing.T) (certPEM, keyPEM string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	fail.On(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	fail.On(t, err)
	der, err := x509.MarshalECPrivateKey(key)
	fail.On(t, err)
	encode := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return encode("CERTIFICATE", cert), encode("EC PRIVATE KEY", der)
}
