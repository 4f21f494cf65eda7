package main

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// blobsFlag is the flag for how blobs that are already present are checked.
const blobsFlag = "blobs"

// The values of --blobs.
const (
	blobsSample = "sample"
	blobsCheck  = "check"
	blobsRead   = "read"
	blobsRepair = "repair"
)

// blobFlags are the flags of gantry mirror for content that is already present. The flags of earlier
// versions are not listed in help.
type blobFlags struct {
	blobs               string
	check, read, repair bool
	set                 *pflag.FlagSet
}

func (b *blobFlags) addFlags(f *pflag.FlagSet) {
	b.set = f
	f.StringVar(&b.blobs, blobsFlag, blobsSample, "blobs that are already present: sample (request some at a registry), check (request all, copy those that are missing or have another length; read all of a layout; request every signature from the sources again), read (also read every manifest and blob at a registry), repair (request all, and copy only what is missing), or read,repair (also what is damaged)")
	offer(f, blobsFlag, []string{blobsSample, blobsCheck, blobsRead, blobsRepair, blobsRead + "," + blobsRepair})
	f.BoolVar(&b.check, "check-blobs", false, "the same as --blobs check")
	f.BoolVar(&b.read, "read-blobs", false, "the same as --blobs read")
	f.BoolVar(&b.repair, "repair-missing", false, "the same as --blobs repair")
	hideFlags(f, "check-blobs", "read-blobs", "repair-missing")
}

// resolve reads --blobs into the values of the other flags. It returns an error if they contradict each
// other.
func (b *blobFlags) resolve() error {
	if !b.set.Changed(blobsFlag) {
		return nil
	}
	for _, name := range []string{"check-blobs", "read-blobs", "repair-missing"} {
		if b.set.Changed(name) {
			return usageHint("leave --"+name+" out", "--%s and --%s both set how blobs are checked", blobsFlag, name)
		}
	}
	words := strings.Split(b.blobs, ",")
	slices.Sort(words)
	switch strings.Join(words, ",") {
	case blobsSample:
	case blobsCheck:
		b.check = true
	case blobsRead:
		b.read = true
	case blobsRepair, blobsCheck + "," + blobsRepair:
		b.repair = true
	case blobsRead + "," + blobsRepair:
		b.read, b.repair = true, true
	default:
		return usageHint("use sample, check, read, repair, or read,repair", "--%s %q", blobsFlag, b.blobs)
	}
	return nil
}

// verifiedBlobs are the flags for the blobs of a mirror of commands that change nothing. --blobs was a
// switch in earlier versions: without a value it is check, and true and false are read, too.
type verifiedBlobs struct {
	level string // "", blobsCheck or blobsRead
	read  bool   // --read-blobs of earlier versions
}

// addFlags adds the flags. of says whose blobs they are.
func (b *verifiedBlobs) addFlags(f *pflag.FlagSet, of string) {
	f.Var((*blobsLevel)(&b.level), blobsFlag, of+": --blobs or --blobs=check also requests every blob, --blobs=read reads every manifest and blob, and compares it with its digest")
	f.Lookup(blobsFlag).NoOptDefVal = blobsCheck
	f.BoolVar(&b.read, "read-blobs", false, "the same as --blobs=read")
	hideFlags(f, "read-blobs")
}

// requested and readAll report whether every blob is requested, or read.
func (b *verifiedBlobs) requested() bool { return b.level == blobsCheck }
func (b *verifiedBlobs) readAll() bool   { return b.read || b.level == blobsRead }

// checkArgs returns an error if a value of --blobs became an argument.
func (b *verifiedBlobs) checkArgs(args []string) error {
	for _, word := range []string{blobsCheck, blobsRead} {
		if b.level != "" && slices.Contains(args, word) {
			return usageHint("write --"+blobsFlag+"="+word, "--%s %s: the value needs the character =", blobsFlag, word)
		}
	}
	return nil
}

// blobsLevel is the value of the flag.
type blobsLevel string

func (v *blobsLevel) String() string { return string(*v) }
func (v *blobsLevel) Type() string   { return "string" }

func (v *blobsLevel) Set(s string) error {
	given, err := strconv.ParseBool(s)
	switch {
	case s == blobsCheck, s == blobsRead:
		*v = blobsLevel(s)
	case err == nil && given:
		*v = blobsCheck
	case err == nil:
		*v = ""
	case s == blobsRepair:
		return errors.New("nothing is changed here: use gantry mirror --blobs=repair")
	default:
		return errors.New("use --blobs=check or --blobs=read")
	}
	return nil
}
