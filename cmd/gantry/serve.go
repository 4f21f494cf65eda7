package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/archive/serve"
	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
)

// htpasswdFlag is the name of the flag.
const htpasswdFlag = "htpasswd"

func (a *app) serveCommand() *cobra.Command {
	var o serve.Options
	var trust trustFlags
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

` + exitCodes(map[int]string{exitMismatch: "the archive is damaged, or not signed as required", exitOK: "stopped by INT, TERM or HUP", exitInterrupted: "stopped before it served"}),
		Example: `  gantry archive serve file:///media/disk
  podman pull --tls-verify=false 127.0.0.1:5000/ubi9/ubi:latest
  gantry archive serve --listen :8443 --tls-cert tls.crt --tls-key tls.key --htpasswd users file:///media/disk
  gantry archive serve --listen :8443 --tls-cert tls.crt --tls-key tls.key --resources manifests --address bastion.example.com:8443 file:///media/disk
  gantry archive serve file:///media/march file:///media/april`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Archive = args
			return a.serve(cmd.Context(), o, &trust)
		},
	}
	trust.addFlags(c.Flags())
	c.Flags().StringVar(&o.Listen, "listen", "127.0.0.1:5000", "address to listen on; port 0 is a free port, :PORT all addresses of this machine")
	c.Flags().StringVar(&o.TLSCert, "tls-cert", "", "PEM file with the TLS certificate and its chain")
	c.Flags().StringVar(&o.TLSKey, "tls-key", "", "PEM file with the private key of --tls-cert")
	c.Flags().StringVar(&o.Htpasswd, htpasswdFlag, "", "require a name and password of this file, with bcrypt hashes (htpasswd -B)")
	c.Flags().BoolVar(&o.PlainHTTP, "plain-http", false, "allow plain HTTP on other addresses than loopback, for example behind a proxy with TLS")
	c.Flags().StringVar(&o.Resources, "resources", "", "write the manifests that make a cluster pull from here to this folder")
	c.Flags().StringVar(&o.Address, "address", "", "HOST:PORT of this registry for clusters, for --resources (default: --listen)")
	c.Flags().StringVar(&o.ResourceName, "resource-name", "", "name in the mirror sets and UpdateService of --resources, idms-operator-NAME-0 (default: serve-CONFIGURATION)")
	return c
}

func (a *app) serve(ctx context.Context, o serve.Options, trust *trustFlags) error {
	if _, err := open.Folders("", o.Archive); err != nil {
		return err
	}
	var err error
	if o.Read, err = a.reading(trust); err != nil {
		return err
	}
	o.Env = a.environment(&a.offline)
	o.Ready = func(s serve.Serving) error { return a.sayServing(s, strings.Join(o.Archive, " ")) }
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
