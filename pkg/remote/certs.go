package remote

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// certs are the certificates of one folder.
type certs struct {
	authorities [][]byte // PEM
	clients     []clientCert
}

// certificateBlock is the type of the PEM blocks that are read: nothing else is public for certain.
const certificateBlock = "CERTIFICATE"

// each calls yield with the DER of each CA until it returns false.
func (c *certs) each(yield func(der []byte) bool) {
	for _, text := range c.authorities {
		for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
			if block.Type == certificateBlock && !yield(block.Bytes) {
				return
			}
		}
	}
}

// readCerts reads a folder of certificates in the format of podman and docker
// (containers-certs.d(5)): *.crt are CAs, X.cert with X.key a client certificate. A folder that
// does not exist is empty, unless it is required. exposed, if set, is called for each key that other
// users can read.
func readCerts(dir string, required bool, exposed func(string, fs.FileInfo)) (certs, error) {
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
			pem, _, err := regular.ReadPath(path, maxCert)
			if err != nil {
				return c, fmt.Errorf("reading a CA certificate: %w", err)
			}
			if !x509.NewCertPool().AppendCertsFromPEM(pem) {
				return c, fmt.Errorf("reading a CA certificate: %s contains no PEM certificate", path)
			}
			c.authorities = append(c.authorities, pem)
		case ".cert":
			pair, info, err := readPair(path, base+".key")
			if err != nil {
				return c, fmt.Errorf("reading the client certificate %s and its key %s.key: %w", path, base, err)
			}
			if exposed != nil && regular.IsExposed(info) {
				exposed(base+".key", info)
			}
			c.clients = append(c.clients, clientCert{pair, path})
		case ".key":
			if _, err := os.Stat(base + ".cert"); err != nil {
				return c, fmt.Errorf("reading the client certificate of the key %s: %w", path, err)
			}
		}
	}
	return c, nil
}

// maxCert is how many bytes of a file with certificates or a key are read.
const maxCert = 16 << 20

// readPair reads a client certificate and its key, and returns information about the key's file.
func readPair(certFile, keyFile string) (tls.Certificate, fs.FileInfo, error) {
	cert, _, err := regular.ReadPath(certFile, maxCert)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	key, info, err := regular.ReadPath(keyFile, maxCert)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	return pair, info, err
}

// tlsConfig returns how the host called name is trusted, and the user's certificates for it.
func (c *Client) tlsConfig(name string, insecure bool) (*tls.Config, *clientCerts, error) {
	ours := &clientCerts{}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: insecure, GetClientCertificate: ours.choose} //nolint:gosec // the user's switch
	for _, dir := range c.certDirs(name) {
		found, err := readCerts(dir, dir == c.o.CertDir, c.o.Exposed)
		if err != nil {
			return nil, nil, err
		}
		ours.list = append(ours.list, found.clients...)
		for _, pem := range found.authorities {
			if cfg.RootCAs == nil {
				if cfg.RootCAs, err = x509.SystemCertPool(); err != nil {
					return nil, nil, fmt.Errorf("reading the CAs of the system: %w", err)
				}
			}
			cfg.RootCAs.AppendCertsFromPEM(pem)
		}
	}
	return cfg, ours, nil
}

// certDirs returns the folders that can have certificates for the host called name.
func (c *Client) certDirs(name string) []string {
	var dirs []string
	roots := c.o.CertDirs
	if c.o.CertDir != "" {
		dirs = append(dirs, c.o.CertDir)
		roots = slices.Concat(dirs, roots) // it may be like certs.d
	}
	if filepath.IsLocal(name) && filepath.Base(name) == name { // a redirect can name any host
		for _, d := range roots {
			dirs = append(dirs, filepath.Join(d, name))
		}
	}
	return dirs
}

// Authorities returns the certificates of the CAs that the user trusts for a host, as PEM, nil if there are
// none. CAs of the system are not among them.
func (c *Client) Authorities(host string) ([]byte, error) {
	var all []byte
	for _, dir := range c.certDirs(host) {
		found, err := readCerts(dir, dir == c.o.CertDir, c.o.Exposed)
		if err != nil {
			return nil, err
		}
		for der := range found.each {
			if text := pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: der}); !bytes.Contains(all, text) {
				all = append(all, text...)
			}
		}
	}
	return all, nil
}

// UsesHTTP reports whether a host was reached by plain HTTP, because of Options or because it does not support TLS.
func (c *Client) UsesHTTP(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, h := range c.hosts {
		if key.host == name && h.probed.Load() && h.scheme == "http" {
			return true
		}
	}
	return false
}
