// Package letsencrypt stands for the module that the registry requests certificates with. The tests request none, and the
// module's host no longer serves it.
package letsencrypt

import (
	"crypto/tls"
	"errors"
)

var errAbsent = errors.New("certificates cannot be requested")

// A Manager has no certificates.
type Manager struct{}

// CacheFile returns an error.
func (*Manager) CacheFile(string) error { return errAbsent }

// Registered reports that there is no account.
func (*Manager) Registered() bool { return false }

// Register returns an error.
func (*Manager) Register(string, func(string) bool) error { return errAbsent }

// SetHosts does nothing.
func (*Manager) SetHosts([]string) {}

// GetCertificate returns an error.
func (*Manager) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, errAbsent }
