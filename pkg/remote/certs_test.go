package remote

import (
	"bytes"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestAuthorities checks that the CAs for a host are found where they are trusted, once, and without anything
// else that the files contain.
func TestAuthorities(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("secret")})
	given, all := t.TempDir(), t.TempDir()
	for file, text := range map[string][]byte{
		filepath.Join(given, "ca.crt"):                  bytes.Join([][]byte{[]byte("a comment\n"), key, ca, key}, nil),
		filepath.Join(all, "mirror.local:5000/ca.crt"):  ca,
		filepath.Join(all, "mirror.local:5000/own.txt"): key,
	} {
		fail.On(t, os.MkdirAll(filepath.Dir(file), 0o755))
		fail.On(t, os.WriteFile(file, text, 0o644))
	}
	for name, tc := range map[string]struct {
		o    Options
		host string
		want []byte
	}{
		"given":         {Options{CertDir: given, CertDirs: []string{}}, "any.local", ca},
		"of the host":   {Options{CertDirs: []string{all}}, "mirror.local:5000", ca},
		"both":          {Options{CertDir: given, CertDirs: []string{all}}, "mirror.local:5000", ca},
		"of other host": {Options{CertDirs: []string{all}}, "mirror.local", nil},
		"none":          {Options{CertDirs: []string{}}, "mirror.local:5000", nil},
	} {
		c, err := New(tc.o)
		fail.On(t, err)
		got, err := c.Authorities(tc.host)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		fail.Diff(t, string(tc.want), string(got))
	}
}
