package remote

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// certs are the certificates of one folder.
type certs struct {
	authorities [][]byte // PEM
	clients     []tls.Certificate
}

// readCerts reads a folder of certificates as podman and docker know it
// (containers-certs.d(5)): *.crt are CAs, X.cert with X.key a client
// certificate. A folder that is absent is empty, unless it is required.
func readCerts(dir string, required bool) (certs, error) {
	var c certs
	entries, err := os.ReadDir(dir)
	if !required && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("reading certificates: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		base, ext := strings.TrimSuffix(path, filepath.Ext(path)), filepath.Ext(path)
		switch ext {
		case ".crt":
			pem, err := os.ReadFile(path)
			if err != nil {
				return c, fmt.Errorf("reading a CA's certificate: %w", err)
			}
			if !x509.NewCertPool().AppendCertsFromPEM(pem) {
				return c, fmt.Errorf("reading a CA's certificate: %s holds no certificate in PEM", path)
			}
			c.authorities = append(c.authorities, pem)
		case ".cert":
			pair, err := tls.LoadX509KeyPair(path, base+".key")
			if err != nil {
				return c, fmt.Errorf("reading the client certificate %s and its key %s.key: %w", path, base, err)
			}
			c.clients = append(c.clients, pair)
		case ".key":
			if _, err := os.Stat(base + ".cert"); err != nil {
				return c, fmt.Errorf("reading the client certificate of the key %s: %w", path, err)
			}
		}
	}
	return c, nil
}

// tlsConfig is how the host called name is trusted.
func (c *Client) tlsConfig(name string, insecure bool) (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: insecure} //nolint:gosec // the user's switch
	dirs := make([]string, 0, len(c.o.CertDirs)+1)
	if c.o.CertDir != "" {
		dirs = append(dirs, c.o.CertDir)
	}
	if filepath.IsLocal(name) && filepath.Base(name) == name { // a redirect can name any host
		for _, d := range c.o.CertDirs {
			dirs = append(dirs, filepath.Join(d, name))
		}
	}
	for _, dir := range dirs {
		found, err := readCerts(dir, dir == c.o.CertDir)
		if err != nil {
			return nil, err
		}
		cfg.Certificates = append(cfg.Certificates, found.clients...)
		for _, pem := range found.authorities {
			if cfg.RootCAs == nil {
				if cfg.RootCAs, err = x509.SystemCertPool(); err != nil {
					return nil, fmt.Errorf("reading the system's CAs: %w", err)
				}
			}
			cfg.RootCAs.AppendCertsFromPEM(pem)
		}
	}
	return cfg, nil
}
