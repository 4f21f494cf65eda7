package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/carry"
	"github.com/gantry-mirror/gantry/pkg/registryserver"
)

// serveFlags are those of gantry serve.
type serveFlags struct {
	trust           trustFlags
	listen          string
	tlsCert, tlsKey string
	htpasswd        string
	plainHTTP       bool
	resources       string
	address         string
}

// htpasswdFlag is what the flag is called.
const htpasswdFlag = "htpasswd"

func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve file://DIR...",
		Short: "Serve an archive as a registry to pull from, where it lies",
		Long: `Serve is a registry over the volumes of an archive: nothing is copied or extracted,
and nothing can be pushed. Images have the repositories and tags that they would
have in a mirror, so that nodes, podman and oc can pull from it before there is a
registry. --resources writes the manifests that make a cluster do so.

Several folders are one archive: the media that its volumes lie on, and those of
the earlier archives that it builds on. An image of which content is in none of them
is not served, nor is a catalog that names it, and this is said at the start.

It speaks to this machine alone unless --listen names another address, which
needs --tls-cert and --tls-key, or else --plain-http. It ends with INT or TERM.

` + exitStatusHelp,
		Example: `  gantry serve file:///media/disk
  podman pull --tls-verify=false 127.0.0.1:5000/ubi9/ubi:latest
  gantry serve --listen :8443 --tls-cert tls.crt --tls-key tls.key --htpasswd users file:///media/disk
  gantry serve --listen :8443 --tls-cert tls.crt --tls-key tls.key --resources manifests --address bastion.example.com:8443 file:///media/disk
  gantry serve file:///media/march file:///media/april`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.serve(cmd.Context(), f, args)
		},
	}
	f.trust.addFlags(c.Flags())
	c.Flags().StringVar(&f.listen, "listen", "127.0.0.1:5000", "address to listen on; port 0 takes a free one, and :PORT is all addresses of this machine")
	c.Flags().StringVar(&f.tlsCert, "tls-cert", "", "certificate to speak TLS with, a PEM file with those that lead to its CA")
	c.Flags().StringVar(&f.tlsKey, "tls-key", "", "private key of --tls-cert, a PEM file")
	c.Flags().StringVar(&f.htpasswd, htpasswdFlag, "", "ask for a name and password of this file, with hashes of bcrypt (htpasswd -B)")
	c.Flags().BoolVar(&f.plainHTTP, "plain-http", false, "speak plain HTTP where others can listen in: on other addresses than loopback, or with a proxy in front that speaks TLS")
	c.Flags().StringVar(&f.resources, "resources", "", "write the manifests that make a cluster pull from here into this folder, which is made where it is absent")
	c.Flags().StringVar(&f.address, "address", "", "HOST:PORT by which clusters reach this registry, for --resources (default: that of --listen)")
	return c
}

// servedArchive is what gantry serve --output json prints once it listens.
type servedArchive struct {
	Version      int    `json:"version"`
	Address      string `json:"address"`
	URL          string `json:"url"`
	Images       int    `json:"images"`
	Repositories int    `json:"repositories"`
	// NotServed are the sources of images that the folders do not have whole, or that
	// were missing when the archive was planned.
	NotServed []string `json:"notServed"`
}

func (a *app) serve(ctx context.Context, f serveFlags, args []string) error {
	dirs, err := folders("", args)
	if err != nil {
		return err
	}
	if f.address != "" && f.resources == "" {
		return usageHint("leave it out, or say --resources DIR", "--address is for the manifests of --resources")
	}
	certificate, err := f.certificate()
	if err != nil {
		return err
	}
	users, err := f.users()
	if err != nil {
		return err
	}
	opts, err := a.reading(&f.trust)
	if err != nil {
		return err
	}
	have, err := archive.OpenWith(opts, dirs...)
	if errors.Is(err, os.ErrNotExist) {
		return &usageError{err}
	}
	if err != nil {
		return refusal(err)
	}
	defer func() { _ = have.Close() }() // only read from
	a.saySigned(have)
	images, err := carry.WholeImages(ctx, have)
	if err != nil {
		return fmt.Errorf("archive in %s: %w", strings.Join(dirs, ", "), err)
	}
	registry, err := registryserver.New(have, a.log, images.All())
	if err != nil {
		return fmt.Errorf("serving the archive in %s: %w", strings.Join(dirs, ", "), err)
	}
	l, err := f.open(ctx, certificate != nil)
	if err != nil {
		return err
	}
	if err := a.writeServed(f, images, l.Addr()); err != nil {
		return errors.Join(err, l.Close())
	}
	if err := a.sayServing(l.Addr(), certificate != nil, strings.Join(args, " "), images, len(registry.Repositories())); err != nil {
		return errors.Join(err, l.Close())
	}
	handler := http.Handler(registry)
	if users != nil {
		if certificate == nil && f.plainHTTP {
			a.warn("without TLS, passwords can be read on the way")
		}
		handler = users.Guard(a.log, registry)
	}
	if err := registryserver.Serve(ctx, a.log, l, handler, certificate); err != nil {
		return fmt.Errorf("serving the archive in %s: %w", strings.Join(dirs, ", "), err)
	}
	return nil
}

// certificate reads what TLS is spoken with; nil is plain HTTP.
func (f *serveFlags) certificate() (*tls.Certificate, error) {
	switch {
	case f.tlsCert == "" && f.tlsKey == "":
		return nil, nil
	case f.tlsCert == "" || f.tlsKey == "":
		return nil, usageHint("give both", "TLS needs --tls-cert and --tls-key")
	case f.plainHTTP:
		return nil, usageHint("leave it out", "--plain-http is for a registry without --tls-cert")
	}
	c, err := tls.LoadX509KeyPair(f.tlsCert, f.tlsKey)
	if err != nil {
		return nil, usagef("--tls-cert %s, --tls-key %s: %w", f.tlsCert, f.tlsKey, err)
	}
	return &c, nil
}

// users reads who may pull; nil is everybody.
func (f *serveFlags) users() (*registryserver.Users, error) {
	if f.htpasswd == "" && f.trust.flags.Changed(htpasswdFlag) {
		return nil, usageHint("name the file, or leave it out", "--htpasswd names no file") // and not a registry for everybody
	}
	if f.htpasswd == "" {
		return nil, nil
	}
	file, err := os.Open(f.htpasswd)
	if err != nil {
		return nil, usagef("--htpasswd: %w", err)
	}
	defer file.Close() // only read from
	users, err := registryserver.ParseUsers(file)
	if err != nil {
		return nil, usagef("--htpasswd %s: %w", f.htpasswd, err)
	}
	return users, nil
}

// open listens, and on loopback alone where nobody said that more is meant.
func (f *serveFlags) open(ctx context.Context, secure bool) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return nil, usagef("--listen: %w", err)
	}
	at, isTCP := l.Addr().(*net.TCPAddr)
	if !secure && !f.plainHTTP && (!isTCP || !at.IP.IsLoopback()) {
		return nil, errors.Join(usageHint("give --tls-cert and --tls-key, or say --plain-http",
			"--listen %s is reached from other machines, and what is sent there without TLS can be read and altered on the way", f.listen), l.Close())
	}
	return l, nil
}

// sayServing says what can be pulled, and how.
func (a *app) sayServing(at net.Addr, secure bool, what string, images *carry.Wholes, repositories int) error {
	more := ""
	if len(images.HeldBack) > 0 {
		var names []string
		for _, w := range images.HeldBack {
			names = append(names, w.String())
		}
		more = ", nor what names them: " + strings.Join(names, ", ")
	}
	if n := len(images.Missing); n > 0 {
		them := "them"
		if n == 1 {
			them = "it"
		}
		a.warn("%s not served, since the source did not have %s when the archive was planned%s", number(n, "image is", "images are"), them, more)
		more = ""
	}
	if n := len(images.Lacking); n > 0 {
		a.warn("%s not served, since content is missing (%v)%s; give the folders of the earlier archives, too", number(n, "image is", "images are"), images.Why, more)
	}
	notServed := slices.Concat(images.Missing, images.Lacking)
	for _, source := range notServed {
		a.log.Info("an image is not served", "source", source)
	}
	scheme, insecure := "https://", ""
	if !secure {
		scheme, insecure = "http://", " --tls-verify=false"
	}
	a.say("serving %s in %s of %s on %s; end with Ctrl-C", number(images.Count, "image", "images"), number(repositories, "repository", "repositories"), what, at)
	if images.Example != "" {
		a.say("try: podman pull%s %s/%s", insecure, reachable(at), images.Example)
	}
	if a.output != outputJSON {
		return nil
	}
	return a.encode(servedArchive{
		Version: 1, Address: at.String(), URL: scheme + reachable(at),
		Images: images.Count, Repositories: repositories, NotServed: append([]string{}, notServed...),
	})
}

// reachable is the address as this machine reaches it.
func reachable(at net.Addr) string {
	if tcp, ok := at.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return fmt.Sprintf("localhost:%d", tcp.Port)
	}
	return at.String()
}

// writeServed writes the manifests that were asked for.
func (a *app) writeServed(f serveFlags, images *carry.Wholes, at net.Addr) error {
	if f.resources == "" {
		return nil
	}
	address := f.address
	if tcp, ok := at.(*net.TCPAddr); address == "" && ok && tcp.IP.IsUnspecified() {
		return usageHint("say --address HOST:PORT", "--listen %s does not tell by which name clusters reach this registry", f.listen)
	}
	files, notes, err := images.Resources(cmp.Or(address, at.String()))
	if err != nil {
		return usagef("--address: %w", err)
	}
	if err := os.MkdirAll(f.resources, 0o755); err != nil {
		return usagef("--resources: %w", err)
	}
	removed, err := saveServed(f.resources, files)
	if err != nil {
		return fmt.Errorf("writing cluster resources: %w", err)
	}
	for _, name := range removed {
		a.say("removed %s, which no longer applies", filepath.Join(f.resources, name))
	}
	for _, note := range notes {
		a.warn("%s", note)
	}
	a.say("%s for clusters in %s", number(len(files), "manifest", "manifests"), f.resources)
	return nil
}
