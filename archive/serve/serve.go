package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/httpserver/registryserver"
	"github.com/gantry-mirror/gantry/pkg/metrics"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
)

// Options says what Serve serves. Archive is required.
type Options struct {
	Env *env.Env
	// Archive are the folders of an archive and of the archives that it builds on, each as
	// file://DIR.
	Archive []string
	// Listen is the address to listen on. The default is 127.0.0.1:5000; port 0 is a free one.
	Listen string
	// TLSCert and TLSKey are the PEM files of the certificate and its key. Set both or none.
	TLSCert, TLSKey string
	// Htpasswd is a file with names and bcrypt hashes of passwords. The default requires no
	// password.
	Htpasswd string
	// PlainHTTP allows other addresses than loopback without TLS.
	PlainHTTP bool
	// Resources is a folder for the manifests that make a cluster pull from here. The default
	// writes none.
	Resources string
	// Address is the HOST:PORT by which clusters reach this registry, for Resources. The default is
	// the one of Listen.
	Address string
	// ResourceName becomes part of the names of the mirror sets and the UpdateService in Resources. The
	// default is the one that they have there, or "serve-" and the name of the image set.
	ResourceName string
	// Read has the signing policy and the identities that archives are read with.
	Read archive.OpenOptions
	// Ready is called when the registry listens, before it serves. An error ends it.
	Ready func(Serving) error
}

// Serving describes a registry that serves an archive.
type Serving struct {
	// Address is where it listens.
	Address net.Addr
	// TLS is true if it speaks TLS.
	TLS bool
	// Images are the images that it serves, and those that it does not.
	Images *airgap.ServableImages
	// Repositories is the number of repositories that have these images.
	Repositories int
}

// Run serves an archive as a registry to pull from, until ctx ends. Nothing is extracted, and
// nothing can be pushed.
func Run(ctx context.Context, o Options) error {
	e, done := o.Env.OrDefault()
	defer done()
	dirs, err := open.Folders("", o.Archive)
	if err != nil {
		return err
	}
	if len(dirs) == 0 {
		return env.InputHint("write file://DIR", "no archive to serve")
	}
	if o.Address != "" && o.Resources == "" {
		return env.InputHint("leave it out, or set Options.Resources", "Options.Address is for the manifests of Options.Resources")
	}
	if o.ResourceName != "" {
		if o.Resources == "" {
			return env.InputHint("leave it out, or set Options.Resources", "Options.ResourceName is for the manifests of Options.Resources")
		}
		if err := resources.CheckSuffix(o.ResourceName); err != nil {
			return env.Inputf("Options.ResourceName: %w", err)
		}
	}
	certificate, err := certificate(e, &o)
	if err != nil {
		return err
	}
	users, err := o.users()
	if err != nil {
		return err
	}
	have, err := archive.OpenWith(o.Read, dirs...)
	if errors.Is(err, os.ErrNotExist) {
		return advice.Wrap(advice.Input, err, "")
	}
	if err != nil {
		return err
	}
	defer func() { _ = have.Close() }() // only read from
	open.Observe(e.Observer, have)
	images, err := airgap.FindServable(ctx, have)
	if err != nil {
		return fmt.Errorf("looking for images to serve: %w", err)
	}
	if err := have.CheckTempDir(images.Content()); err != nil {
		return err
	}
	registry, err := registryserver.New(have, e.Logger(), images.All())
	if err != nil {
		return fmt.Errorf("serving the archive in %s: %w", strings.Join(dirs, ", "), err)
	}
	l, err := o.open(ctx, certificate != nil)
	if err != nil {
		return err
	}
	if err := writeServed(e, o, images, l.Addr()); err != nil {
		return errors.Join(err, l.Close())
	}
	if o.Ready != nil {
		serving := Serving{Address: l.Addr(), TLS: certificate != nil, Images: images, Repositories: len(registry.Repositories())}
		if err := o.Ready(serving); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	gauge := func(name, help string, value int) metrics.Metric {
		return metrics.Metric{Name: name, Help: help, Type: metrics.Gauge, Samples: metrics.One(float64(value), "image_set", images.Name())}
	}
	handler := registryserver.Metered(registry,
		gauge("gantry_serve_images", "Images that are served.", len(slices.Collect(images.All()))),
		gauge("gantry_serve_repositories", "Repositories that have them.", len(registry.Repositories())),
		gauge("gantry_serve_archive_sequence", "The sequence of the archive that is served.", have.Selected().Sequence))
	if users != nil {
		if certificate == nil && o.PlainHTTP {
			e.Warnf("without TLS, passwords can be read in transit")
		}
		handler = users.Guard(e.Logger(), handler)
	}
	if err := registryserver.Serve(ctx, e.Logger(), l, handler, certificate); err != nil {
		return fmt.Errorf("serving the archive in %s: %w", strings.Join(dirs, ", "), err)
	}
	return nil
}

// maxTLSFile is how many bytes of a certificate or key are read.
const maxTLSFile = 16 << 20

// certificate reads the certificate of TLS, or returns nil for plain HTTP.
func certificate(e *env.Env, o *Options) (*tls.Certificate, error) {
	switch {
	case o.TLSCert == "" && o.TLSKey == "":
		return nil, nil
	case o.TLSCert == "" || o.TLSKey == "":
		return nil, env.InputHint("set both", "TLS requires Options.TLSCert and Options.TLSKey")
	case o.PlainHTTP:
		return nil, env.InputHint("leave it out", "Options.PlainHTTP is for a registry without Options.TLSCert")
	}
	cert, _, err := regular.ReadInput(o.TLSCert, maxTLSFile)
	if err != nil {
		return nil, env.Inputf("Options.TLSCert: %w", err)
	}
	key, info, err := regular.ReadInput(o.TLSKey, maxTLSFile)
	if err != nil {
		return nil, env.Inputf("Options.TLSKey: %w", err)
	}
	env.WarnExposed(e, o.TLSKey, info)
	c, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, env.Inputf("Options.TLSCert %s, Options.TLSKey %s: %w", o.TLSCert, o.TLSKey, err)
	}
	return &c, nil
}

// users reads who may pull, or returns nil for everyone.
func (o *Options) users() (*registryserver.Users, error) {
	if o.Htpasswd == "" {
		return nil, nil
	}
	file, err := regular.OpenInput(o.Htpasswd)
	if err != nil {
		return nil, env.Inputf("Options.Htpasswd: %w", err)
	}
	defer file.Close() // only read from
	users, err := registryserver.ParseUsers(file)
	if err != nil {
		return nil, env.Inputf("Options.Htpasswd %s: %w", o.Htpasswd, err)
	}
	return users, nil
}

// open listens: without TLS on loopback alone, unless PlainHTTP allows more.
func (o *Options) open(ctx context.Context, secure bool) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", cmp.Or(o.Listen, "127.0.0.1:5000"))
	if err != nil {
		return nil, env.Inputf("Options.Listen: %w", err)
	}
	at, isTCP := l.Addr().(*net.TCPAddr)
	if !secure && !o.PlainHTTP && (!isTCP || !at.IP.IsLoopback()) {
		return nil, errors.Join(env.InputHint("set Options.TLSCert and Options.TLSKey, or Options.PlainHTTP",
			"Options.Listen %s can be reached from other machines, and without TLS the traffic can be read and altered", o.Listen), l.Close())
	}
	return l, nil
}

// writeServed writes the manifests for clusters if Options.Resources is set.
func writeServed(e *env.Env, o Options, images *airgap.ServableImages, at net.Addr) error {
	if o.Resources == "" {
		return nil
	}
	address := o.Address
	if tcp, ok := at.(*net.TCPAddr); address == "" && ok && tcp.IP.IsUnspecified() {
		return env.InputHint("set Options.Address to HOST:PORT", "Options.Listen %s has no host name by which clusters can reach this registry", o.Listen)
	}
	if err := durable.MkdirAll(o.Resources, 0o755); err != nil {
		return env.Inputf("Options.Resources: %w", err)
	}
	before, err := readServed(o.Resources)
	if err != nil {
		return fmt.Errorf("reading the cluster resources of an earlier run: %w", err)
	}
	suffix := o.ResourceName
	if suffix == "" {
		var known bool
		if suffix, known = resources.SuffixOf(resources.ObjectNames(before)); !known {
			suffix = resources.NewSuffix("serve-"+images.Name(), nil)
		}
	}
	files, notes, err := images.Resources(cmp.Or(address, at.String()), suffix, resources.FileNames(before))
	if err != nil {
		return env.Inputf("Options.Address: %w", err)
	}
	removed, err := saveServed(o.Resources, files)
	if err != nil {
		return fmt.Errorf("writing cluster resources: %w", err)
	}
	for _, name := range removed {
		e.Noticef("removed %s, which no longer applies", filepath.Join(o.Resources, name))
	}
	for _, note := range notes {
		e.Warnf("%s", note)
	}
	e.Noticef("%s for clusters in %s", env.Number(len(files), "manifest", "manifests"), o.Resources)
	return nil
}
