package gantry

import (
	"context"
	"net"
	"strings"
	"time"

	"filippo.io/age"

	"github.com/gantry-mirror/gantry/archive/serve"
	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/plan/admission"
	"github.com/gantry-mirror/gantry/plan/cluster"
)

// Keys sign and open disks. The zero value signs nothing and opens no encrypted disk.
type Keys struct {
	// Sign signs what is written.
	Sign *sshsig.Key
	// Trusted says whose signatures are accepted. Nil checks none of a disk that is read.
	Trusted *sshsig.Policy
	// Identities decrypt disks that are read.
	Identities []age.Identity
}

// policy returns the policy for signatures, or nil.
func (k *Keys) policy() *sshsig.Policy {
	if k.Trusted == nil {
		return nil
	}
	p := *k.Trusted
	if p.Now.IsZero() {
		p.Now = time.Now()
	}
	return &p
}

func (k *Keys) options() mirroring.KeyOptions {
	o := mirroring.KeyOptions{SigningKey: k.Sign}
	if p := k.policy(); p != nil {
		o.Trust = func() (*sshsig.Policy, error) { return p, nil }
	}
	return o
}

func (k *Keys) reading() archive.OpenOptions {
	return archive.OpenOptions{Signatures: k.policy(), Identities: k.Identities}
}

// An Omission is what a site has already, so that a disk omits it. The zero value omits the content of earlier
// disks of the workspace.
type Omission struct {
	since    mirroring.Since
	nothing  bool
	receipts []string
}

// OmitNothing is for a site that has nothing.
func OmitNothing() Omission { return Omission{nothing: true} }

// OmitUntil is for a site that imported the disks of the workspace up to a sequence.
func OmitUntil(sequence int) Omission {
	return Omission{since: mirroring.Since{Sequence: sequence}, nothing: sequence == 0}
}

// OmitBefore is for a site that imported the last disk that was written before a time.
func OmitBefore(t time.Time) Omission { return Omission{since: mirroring.Since{Date: t}} }

// OmitReceipts is for sites that wrote these files when they imported. What all of them have is omitted.
func OmitReceipts(files ...string) Omission { return Omission{receipts: files} }

// ExportOptions says what Export writes to a disk.
type ExportOptions struct {
	Env *Env
	Content
	// Workspace is the folder for plans, the cache and what is known of earlier disks. The default is
	// gantry-workspace.
	Workspace string
	// Disk is the folder of the archive.
	Disk string
	// Omit is what the site has already.
	Omit Omission
	// VolumeSize is the maximum size of a volume in bytes. The default is the one of the configuration.
	VolumeSize int64
	// Redundancy is the percentage of volumes for which parity files are added, from which lost volumes are
	// rebuilt.
	Redundancy int
	// Encrypt has the recipients. Nil does not encrypt.
	Encrypt     *archive.Encryption
	Keys        Keys
	Windows     []Window
	Unavailable Unavailable
}

// Export writes what a configuration selects to a disk, without what the site has already. Its error is nil only
// if everything that was planned is there.
func Export(ctx context.Context, o ExportOptions) (*MirrorResult, error) {
	if err := o.check("ExportOptions"); err != nil {
		return nil, err
	}
	to := Disk(o.Disk)
	if err := to.check("ExportOptions.Disk", "a folder", env.ArchiveScheme); err != nil {
		return nil, err
	}
	result, err := mirroring.Run(ctx, mirroring.Options{
		Env: o.Env, Selection: o.selection(), TrustOptions: o.trust(false), KeyOptions: o.Keys.options(), Name: o.Name, Workspace: o.Workspace, Destination: to.String(),
		ArchiveOptions: mirroring.ArchiveOptions{
			Volumes: site.Volumes{VolumeSize: o.VolumeSize, Redundancy: o.Redundancy, EncryptTo: o.Encrypt},
			Since:   o.Omit.since, Full: o.Omit.nothing, Receipts: o.Omit.receipts,
		},
		Rules: rules(o.Windows, SomeBlobs, o.Unavailable),
	})
	return result, diskWords[ExportOptions]().of(err)
}

func diskWords[T any]() words {
	w := mirrorWords[T]()
	w.renamed["Destination"], w.renamed["EncryptTo"] = "Disk", "Encrypt"
	return w
}

// ImportOptions says from which disk Import copies, and where to.
type ImportOptions struct {
	Env *Env
	// From is a disk, with the disks that it builds on if the mirror does not have their content.
	From Place
	// To is a registry or a layout.
	To Place
	// Workspace is the folder for plans and cluster resources. The default is gantry-workspace.
	Workspace string
	// MaxNestedPaths is how many path components the registry allows; 0 is no limit.
	MaxNestedPaths int
	// Clusters are those of MirrorOptions.
	Clusters []string
	// AllowOlder permits a disk that is older than the last one.
	AllowOlder bool
	// Receipt is the file for the receipt of what the registry has: OmitReceipts reads it. The default is in
	// the workspace.
	Receipt string
	// ImagePolicy is the one of Content.
	ImagePolicy string
	Keys        Keys
	Windows     []Window
	Blobs       Blobs
}

// Import copies a disk to a registry or a layout, at the disconnected site. Its error is nil only if everything
// that was planned is there.
func Import(ctx context.Context, o ImportOptions) (*MirrorResult, error) {
	if err := o.From.check("ImportOptions.From", "a disk", env.ArchiveScheme); err != nil {
		return nil, err
	}
	if err := o.To.check("ImportOptions.To", "a registry or a layout", env.RegistryScheme, env.LayoutScheme); err != nil {
		return nil, err
	}
	accepted := Content{ImagePolicy: o.ImagePolicy}
	result, err := mirroring.Run(ctx, mirroring.Options{
		Env: o.Env, ImportOptions: mirroring.ImportOptions{From: o.From.locations(), Read: o.Keys.reading(), WriteReceipt: o.Receipt},
		TrustOptions: accepted.trust(false), KeyOptions: o.Keys.options(), Workspace: o.Workspace, Destination: o.To.String(),
		RegistryOptions: mirroring.RegistryOptions{MaxNestedPaths: o.MaxNestedPaths}, Rules: rules(o.Windows, o.Blobs, ""), Replacing: admission.Replacing{AllowOlder: o.AllowOlder},
		Format: cluster.Format{For: strings.Join(o.Clusters, ",")},
	})
	return result, mirrorWords[ImportOptions]().of(err)
}

// RepairOptions says what Repair writes.
type RepairOptions struct {
	Env *Env
	// Request is the file of a request, which a site writes when content of a disk is damaged.
	Request string
	// Workspace is the one from which the disk was written. The default is gantry-workspace.
	Workspace string
	// Disk is the folder of the archive that is written.
	Disk string
	// VolumeSize is the maximum size of a volume in bytes.
	VolumeSize int64
	// Encrypt has the recipients. Nil does not encrypt.
	Encrypt *archive.Encryption
	Keys    Keys
}

// Repair writes the content that a request lists to a disk.
func Repair(ctx context.Context, o RepairOptions) (*MirrorResult, error) {
	to := Disk(o.Disk)
	if err := to.check("RepairOptions.Disk", "a folder", env.ArchiveScheme); err != nil {
		return nil, err
	}
	if o.Request == "" {
		return nil, advice.New(advice.Input, "set it to a file", "RepairOptions.Request is not set")
	}
	result, err := mirroring.Run(ctx, mirroring.Options{
		Env: o.Env, Repair: o.Request, KeyOptions: o.Keys.options(), Workspace: o.Workspace, Destination: to.String(),
		ArchiveOptions: mirroring.ArchiveOptions{Volumes: site.Volumes{VolumeSize: o.VolumeSize, EncryptTo: o.Encrypt}},
	})
	return result, diskWords[RepairOptions]().of(err)
}

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
