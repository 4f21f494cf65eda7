package main

import (
	"bytes"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/mirror/releases"
)

const inclusionHelp = `Without filters, all are printed. --profile, --feature-set, --capability-set and
--capability each apply the rules of a cluster; --included applies all of them, with the
defaults of a cluster. Feature gates are those that the release enables for profile and
feature set.
`

func (a *app) releaseManifestsCommand() *cobra.Command {
	var in inclusionFlags
	c := &cobra.Command{
		Use:   "manifests RELEASE",
		Short: "Print or extract the manifests of a release",
		Long: `Print the manifests that the operators of a release consist of, as YAML documents in the
order in which a cluster applies them, or as a list with -o json. With --to, write them to
a folder.

` + inclusionHelp + `
` + releaseHelp + `
` + exitCodes(map[int]string{exitUnauthorized: helpUnauthorized, exitMismatch: helpArchive}),
		Example: `  gantry release manifests 4.20.5 --included --capability-set None --capability Console > manifests.yaml
  gantry release manifests 4.20.5 --to manifests
  gantry release manifests 4.20.5 --file 0000_50_console-operator_07-operator.yaml`,
		Args: cobra.ExactArgs(1),
	}
	in.addFlags(c.Flags())
	c.Flags().StringVar(&in.options.File, "file", "", "only manifests of the file with this name")
	c.Flags().BoolVar(&in.options.CredentialsRequests, "credentials-requests", false, "only CredentialsRequests, as gantry release credentials")
	c.Flags().StringVar(&in.options.Cloud, "cloud", "", "only CredentialsRequests for this cloud provider")
	formFlag(c.Flags(), "format: yaml (documents) or json (a list without their content)", outputYAML, outputJSON)
	return a.releaseVerb(c, func(ctx context.Context, o releases.ReleaseOptions, _ []string) error {
		return a.releaseManifests(ctx, o, &in)
	})
}

func (a *app) releaseCredentialsCommand() *cobra.Command {
	var in inclusionFlags
	c := &cobra.Command{
		Use:   "credentials RELEASE [--cloud CLOUD]",
		Short: "Print or extract the CredentialsRequests of a release",
		Long: `Print the CredentialsRequests of a release, for ccoctl and for clusters whose credentials
are made by hand, as YAML documents, or as a list with -o json. With --to, write them to a
folder.

` + inclusionHelp + `
` + releaseHelp + `
` + exitCodes(map[int]string{exitUnauthorized: helpUnauthorized, exitMismatch: helpArchive}),
		Example: `  gantry release credentials 4.20.5 --cloud aws --included --to credentials
  gantry release credentials file:///media/disk#4.20.5 --cloud gcp`,
		Args: cobra.ExactArgs(1),
	}
	in.addFlags(c.Flags())
	c.Flags().StringVar(&in.options.Cloud, "cloud", "", "only those for this cloud provider: aws, azure, gcp, ibmcloud, nutanix, openstack, powervs, vsphere and others")
	formFlag(c.Flags(), "format: yaml (documents) or json (a list without their content)", outputYAML, outputJSON)
	return a.releaseVerb(c, func(ctx context.Context, o releases.ReleaseOptions, _ []string) error {
		in.options.CredentialsRequests = true
		return a.releaseManifests(ctx, o, &in)
	})
}

func (a *app) releaseManifests(ctx context.Context, o releases.ReleaseOptions, in *inclusionFlags) error {
	in.options.ReleaseOptions = o
	list, err := releases.ReleaseManifests(ctx, in.options)
	if err != nil {
		return err
	}
	var names []string
	if in.to != "" {
		if names, err = list.WriteFiles(in.to); err != nil {
			return err
		}
	}
	switch {
	case a.format == outputJSON:
		return a.encode(list)
	case in.to != "":
		return a.text(strings.Join(append(names, ""), "\n"))
	}
	var text bytes.Buffer
	err = list.WriteYAML(&text)
	return a.documents(text.Bytes(), err)
}
