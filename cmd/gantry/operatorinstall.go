package main

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/cluster/operator"
	"github.com/gantry-mirror/gantry/pkg/env"
)

const helpMissingAccess = "--check found that permissions are missing, or the archive is\ndamaged or not signed as required"

// operatorFlags are the flags of operator install.
type operatorFlags struct {
	readFlags
	archive   archiveFlags
	options   operator.InstallOptions
	check, to string
}

func (a *app) operatorInstallCommand() *cobra.Command {
	var f operatorFlags
	c := &cobra.Command{
		Use:   "install PACKAGE",
		Short: "Print the objects that install a mirrored operator",
		Long: `Print the objects that install an operator, from its bundle in a mirror, an archive or a
layout, or at its source. For OLM v1: a ServiceAccount with the fewest permissions that install and
run it, a ClusterExtension pinned to the version, and roles for users. For OLM classic: an
OperatorGroup and a Subscription. Nothing is applied. Notes are on stderr.

operator-controller before 1.11 (OpenShift ` + operator.OpenShiftWithAccount + `) requires the account. 1.11 (July 2026)
ignores it: with --for operator-controller-1.11, account, roles and field are left out.
--check lists the permissions of the account that roles in a file, such as the output of
oc get clusterrole,clusterrolebinding,role,rolebinding -A -o yaml, do not have.

` + exitCodes(map[int]string{exitMismatch: helpMissingAccess, exitUnauthorized: helpUnauthorized}),
		Example: `  gantry cluster operator install my-operator --from docker://mirror.example.com:5000 | oc apply -f -
  gantry cluster operator install my-operator --from file:///media/disk --version 1.2.3 --to install
  gantry cluster operator install my-operator --olm classic --namespace team-a --trusted-ca
  gantry cluster operator install my-operator --check role.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.options.Package = args[0]
			return a.operatorInstall(cmd.Context(), &f)
		},
	}
	fs, o := c.Flags(), &f.options
	f.addFlags(fs)
	f.archive.addFlags(fs)
	fs.Lookup("workspace").Usage = "folder that was used for the mirror"
	repeatable(fs, &o.From, "from", "mirror (docker://HOST[:PORT][/PREFIX]), archive (file://DIR, may be repeated) or layout (oci://DIR) to read (default: the one for which the workspace was used)")
	fs.StringVar(&o.Catalog, "catalog", "", "catalog with the package, if there are several; without --from, the image, folder or file of a catalog to read")
	fs.StringVar(&o.Channel, "channel", "", "channel of the updates (default: the default channel)")
	fs.StringVar(&o.Version, "version", "", "version to install (default: the head of the channel)")
	repeatable(fs, &o.Namespace, "namespace", "namespace that the operator watches (may be repeated for classic; default: all, or its own)")
	fs.StringVar(&o.InstallNamespace, "install-namespace", "", "namespace in which the operator runs (default: what its publisher suggests, or PACKAGE)")
	fs.StringVar(&o.OLM, "olm", operator.OLMV1, "generation of OLM: v1 or classic")
	offer(fs, "olm", []string{operator.OLMV1, operator.OLMClassic})
	fs.StringVar(&o.For, "for", "", "v1: what the cluster has, openshift-4.20 or operator-controller-1.11 (default: operator-controller before 1.11)")
	fs.StringVar(&o.ServiceAccount, "service-account", "", "v1: ServiceAccount that installs (default: PACKAGE-installer)")
	fs.BoolVar(&o.CertManager, "cert-manager", false, "v1: cert-manager makes the certificates of webhooks, not the service CA of OpenShift")
	fs.StringVar(&f.check, "check", "", "v1: list what the roles in this file, or - for stdin, do not permit")
	fs.StringVar(&o.Approval, "approval", "", "classic: automatic or manual updates (default: manual with --version)")
	offer(fs, "approval", []string{operator.ApprovalAutomatic, operator.ApprovalManual})
	fs.StringVar(&o.HTTPProxy, "http-proxy", "", "classic: HTTP_PROXY of the operator (default: as in the cluster)")
	fs.StringVar(&o.HTTPSProxy, "https-proxy", "", "classic: HTTPS_PROXY of the operator (default: as in the cluster)")
	fs.StringVar(&o.NoProxy, "no-proxy", "", "classic: NO_PROXY of the operator (default: as in the cluster)")
	fs.BoolVar(&o.TrustedCA, "trusted-ca", false, "classic: mount the CAs that the cluster trusts into the operator")
	fs.StringVar(&f.to, "to", "", "write each object to a file in this folder")
	formFlag(fs, "format: yaml (documents) or json", outputYAML, outputJSON)
	return c
}

func (a *app) operatorInstall(ctx context.Context, f *operatorFlags) error {
	if f.check != "" && f.to != "" {
		return usagef("--check and --to exclude each other")
	}
	o := f.options
	if err := f.archive.trust.check(len(o.From) > 0 && strings.HasPrefix(o.From[0], env.ArchiveScheme)); err != nil {
		return err
	}
	var err error
	if o.Read, err = a.reading(&f.archive.trust); err != nil {
		return err
	}
	o.Env, o.Workspace, o.Sequence = a.environment(&f.registryFlags), f.workspace, f.archive.sequence
	if f.check != "" {
		return a.operatorCheck(ctx, o, f)
	}
	i, err := operator.NewInstall(ctx, o)
	if err != nil {
		return err
	}
	a.sayNotes(i.Notes)
	var names []string
	if f.to != "" {
		if names, err = i.WriteFiles(f.to); err != nil {
			return err
		}
	}
	switch {
	case a.format == outputJSON:
		return a.encode(i)
	case f.to != "":
		return a.text(strings.Join(append(names, ""), "\n"))
	}
	return a.documents(i.YAML())
}

// operatorCheck prints what the roles of a file do not permit.
func (a *app) operatorCheck(ctx context.Context, o operator.InstallOptions, f *operatorFlags) error {
	access, found := operator.CheckAccess(ctx, o, f.check)
	if access == nil {
		return found
	}
	a.sayNotes(access.Notes)
	var err error
	switch {
	case a.format == outputJSON:
		err = a.encode(access)
	case access.Account == "": // the note says why
	case len(access.Missing) == 0:
		a.say("nothing is missing: ServiceAccount %s can install %s", access.Account, access.Bundle)
	default:
		err = a.documents(access.YAML())
	}
	return cmp.Or(err, found)
}

// sayNotes prints notes on stderr.
func (a *app) sayNotes(list []string) {
	for _, note := range list {
		a.say("%s", view.Printable(flagNames(note)))
	}
}

// documents prints YAML documents on stdout, unchanged for files and programs.
func (a *app) documents(text []byte, err error) error {
	if err != nil {
		return err
	}
	if _, ok := terminalOf(a.stdout); ok {
		return a.exact(string(text))
	}
	_, err = a.stdout.Write(text)
	return err
}
