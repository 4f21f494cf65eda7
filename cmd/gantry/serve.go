package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/archive/serve"
	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
)

// serveFlags are the flags of gantry archive serve.
type serveFlags struct {
	trust           trustFlags
	listen          string
	tlsCert, tlsKey string
	htpasswd        string
	plainHTTP       bool
	resources       string
	address         string
	resourceName    string
}

// htpasswdFlag is the name of the flag.
const htpasswdFlag = "htpasswd"

func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve file://DIR...",
		Short: "Serve an archive as a read-only registry",
		Long: `Serve an archive as a read-only registry, directly from its volumes: nothing is copied
or extracted. Images have the repositories and tags of a mirror, so nodes, podman and oc
can pull from it before a registry exists. --resources writes the manifests that make a
cluster do that.

Name the folders of all volumes, and of the earlier archives that the archive builds on.
Images with missing content are not served, and neither are catalogs that name them.

The default address can be reached from this machine only. Another one (--listen)
requires --tls-cert and --tls-key, or --plain-http. Stop it with Ctrl-C or TERM.

` + exitCodes(map[int]string{exitMismatch: "the archive is damaged, or not signed as required", exitInterrupted: "stopped by INT, TERM or HUP"}),
		Example: `  gantry archive serve file:///media/disk
  podman pull --tls-verify=false 127.0.0.1:5000/ubi9/ubi:latest
  gantry archive serve --listen :8443 --tls-cert tls.crt --tls-key tls.key --htpasswd users file:///media/disk
  gantry archive serve --listen :8443 --tls-cert tls.crt --tls-key tls.key --resources manifests --address bastion.example.com:8443 file:///media/disk
  gantry archive serve file:///media/march file:///media/april`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.serve(cmd.Context(), f, args)
		},
	}
	f.trust.addFlags(c.Flags())
	c.Flags().StringVar(&f.listen, "listen", "127.0.0.1:5000", "address to listen on; port 0 is a free port, :PORT all addresses of this machine")
	c.Flags().StringVar(&f.tlsCert, "tls-cert", "", "PEM file with the TLS certificate and its chain")
	c.Flags().StringVar(&f.tlsKey, "tls-key", "", "PEM file with the private key of --tls-cert")
	c.Flags().StringVar(&f.htpasswd, htpasswdFlag, "", "require a name and password of this file, with bcrypt hashes (htpasswd -B)")
	c.Flags().BoolVar(&f.plainHTTP, "plain-http", false, "allow plain HTTP on other addresses than loopback, for example behind a proxy with TLS")
	c.Flags().StringVar(&f.resources, "resources", "", "write the manifests that make a cluster pull from here to this folder")
	c.Flags().StringVar(&f.address, "address", "", "HOST:PORT of this registry for clusters, for --resources (default: --listen)")
	c.Flags().StringVar(&f.resourceName, "resource-name", "", "name in the mirror sets and UpdateService of --resources, idms-operator-NAME-0 (default: serve-CONFIGURATION)")
	return c
}

func (a *app) serve(ctx context.Context, f serveFlags, args []string) error {
	if _, err := open.Folders("", args); err != nil {
		return err
	}
	if f.htpasswd == "" && f.trust.flags.Changed(htpasswdFlag) {
		return usageHint("name the file, or leave it out", "--htpasswd is empty") // without a password, everyone could pull
	}
	o := serve.Options{
		Env: a.environment(&registryFlags{}), Archive: args, Listen: f.listen, TLSCert: f.tlsCert, TLSKey: f.tlsKey, Htpasswd: f.htpasswd,
		PlainHTTP: f.plainHTTP, Resources: f.resources, Address: f.address, ResourceName: f.resourceName,
		Ready: func(s serve.Serving) error { return a.sayServing(s, strings.Join(args, " ")) },
	}
	var err error
	if o.Read, err = a.reading(&f.trust); err != nil {
		return err
	}
	return serve.Run(ctx, o)
}

// sayServing prints what can be pulled, and how.
func (a *app) sayServing(s serve.Serving, what string) error {
	served := view.NewServed(s)
	for _, source := range served.NotServed {
		a.log.Info("an image is not served", "source", source)
	}
	for _, text := range view.NotServed(s.Images) {
		a.warn("%s", text)
	}
	for _, text := range view.Serving(s, what) {
		a.say("%s", text)
	}
	if a.output == outputJSON {
		return a.encode(served)
	}
	return nil
}
