package gantry

import (
	"context"
	"net"

	"github.com/gantry-mirror/gantry/archive/serve"
	"github.com/gantry-mirror/gantry/pkg/env"
)

// ServeOptions says what Serve serves.
type ServeOptions struct {
	Env *Env
	// From is a disk, with the disks that it builds on.
	From Place
	// Listen is the address to listen on. The default is 127.0.0.1:5000; port 0 is a free one.
	Listen string
	// TLSCert and TLSKey are the PEM files of the certificate and its key. Without them, only addresses of
	// this host are listened on, unless PlainHTTP is set.
	TLSCert, TLSKey string
	PlainHTTP       bool
	// Htpasswd is a file with names and bcrypt hashes of passwords. The default requires no password.
	Htpasswd string
	Keys     Keys
	// Ready is called when the registry listens, before it serves. An error ends it.
	Ready func(address net.Addr) error
}

// Serve serves a disk as a registry to pull from, until ctx ends. Nothing is extracted or written.
func Serve(ctx context.Context, o ServeOptions) error {
	if err := o.From.check("ServeOptions.From", "a disk", env.ArchiveScheme); err != nil {
		return err
	}
	options := serve.Options{
		Env: o.Env, Archive: o.From.locations(), Listen: o.Listen, TLSCert: o.TLSCert, TLSKey: o.TLSKey, Htpasswd: o.Htpasswd, PlainHTTP: o.PlainHTTP, Read: o.Keys.reading(),
	}
	if o.Ready != nil {
		options.Ready = func(s serve.Serving) error { return o.Ready(s.Address) }
	}
	return wordsOf[ServeOptions, serve.Options](map[string]string{"Archive": "From"}).of(serve.Run(ctx, options))
}
