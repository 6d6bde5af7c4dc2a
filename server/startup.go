package server

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/beckon-dev/beckon/server/config"
	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/boltstore"
	"github.com/beckon-dev/beckon/server/store/journal"
)

// StartError is why a server could not start, in the words of whoever starts
// it: the flag, what it names, and what is wrong with that.
type StartError struct {
	// Flag is the setting to change, as it is typed; a fault of two files
	// names both.
	Flag string
	// Value is the folder, file or address it names.
	Value string
	// Problem is what is wrong, in plain words.
	Problem string
	// Cause is the error it was told from; errors.Is finds it.
	Cause error
}

// Error is one line.
func (e *StartError) Error() string { return e.Flag + " " + e.Value + ": " + e.Problem }

// Unwrap gives the cause.
func (e *StartError) Unwrap() error { return e.Cause }

// dataError says what is wrong with the data folder; nil stays nil. Errors that
// the operator cannot know keep their text behind the name of the folder.
func dataError(folder string, err error) error {
	if err == nil {
		return nil
	}
	if started, ok := errors.AsType[*StartError](err); ok {
		return started
	}
	at := folder
	if abs, e := filepath.Abs(folder); e == nil {
		at = abs
	}
	master := filepath.Join(at, masterFile)
	problem := plain(err)
	switch {
	case errors.Is(err, store.ErrLocked):
		problem = "the folder is in use by another process, probably a beckond that still runs"
	case errors.Is(err, store.ErrFormatNewer):
		problem = "the folder was written by a newer beckond"
	case errors.Is(err, store.ErrDiskFull):
		problem = "the disk is full"
	case errors.Is(err, boltstore.ErrForeign):
		problem = boltstore.FileName + " in it is a database of another program"
	case errors.Is(err, credential.ErrMasterMode):
		problem = master + " must be a regular file that only its owner can read; see chmod 600"
	case errors.Is(err, credential.ErrMasterSize):
		problem = master + " does not hold a key of 32 bytes; put your copy of it back"
	case errors.Is(err, errUnfinished):
		problem = "a restore of it was cut short; run beckond restore again"
	case errors.Is(err, store.ErrForeignKey):
		problem = master + " belongs to another database; put the key of this one back"
	case errors.Is(err, syscall.ENOTDIR):
		problem = "not a folder"
	}
	return &StartError{Flag: "--data", Value: at, Problem: problem, Cause: err}
}

// journalError says what is wrong with the folder of the journal.
func journalError(folder string, err error) error {
	problem := plain(err)
	switch {
	case errors.Is(err, journal.ErrDamaged):
		problem = "a file in it is damaged; put a copy of it back, or move it away, which is as if the journal had been lost"
	case errors.Is(err, store.ErrLocked):
		problem = "the journal is in use by another process, probably a beckond that still runs"
	case errors.Is(err, errForeignJournal):
		problem = "it is the journal of another server than the database; if that one is gone for good, move the journal away"
	case errors.Is(err, store.ErrDiskFull):
		problem = "the disk is full"
	}
	return &StartError{Flag: "--journal", Value: folder, Problem: problem, Cause: err}
}

// listenError says why the port cannot be opened.
func listenError(address string, err error) error {
	problem := plain(err)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		problem = "the address is in use by another program, perhaps a beckond that still runs"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		problem = "this machine has no such address"
	case errors.Is(err, fs.ErrPermission):
		problem = "not permitted; ports below 1024 need a privilege"
	}
	return &StartError{Flag: "--listen", Value: address, Problem: problem, Cause: err}
}

// socketError says why the operator's socket cannot be opened.
func socketError(path string, err error) error {
	problem := plain(err)
	if errors.Is(err, syscall.EINVAL) { // unix(7): sun_path has 108 bytes
		problem = "the path is too long for a socket; choose a shorter one"
	}
	return &StartError{Flag: "--admin-socket", Value: path, Problem: problem, Cause: err}
}

// plain is the system's reason where there is one, with the file it is about
// and without the names of our packages.
func plain(err error) string {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err.Error() + " (" + at.Path + ")"
	}
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		return number.Error()
	}
	return withoutPackages(err.Error())
}

// withoutPackages takes away what our errors begin with, for whoever reads the
// code and not for an operator.
func withoutPackages(text string) string {
	for {
		first, rest, found := strings.Cut(text, ": ")
		switch first {
		case "boltstore", "store", "credential", "server", "open", "create", "data folder", "admin socket":
		default:
			return text
		}
		if !found {
			return text
		}
		text = rest
	}
}

// loadCertificate reads the pair of files before anything else is opened or
// printed. No pair is no certificate. It fails with a StartError that names the
// flag of the file at fault.
func loadCertificate(cfg config.Config) ([]tls.Certificate, error) {
	if !cfg.TLS() {
		return nil, nil
	}
	chain, err := os.ReadFile(cfg.TLSCert)
	if err == nil {
		err = checkChain(chain)
	}
	if err != nil {
		return nil, &StartError{Flag: "--tls-cert", Value: cfg.TLSCert, Problem: fileProblem(err), Cause: err}
	}
	key, err := os.ReadFile(cfg.TLSKey)
	if err != nil {
		return nil, &StartError{Flag: "--tls-key", Value: cfg.TLSKey, Problem: fileProblem(err), Cause: err}
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil { // the chain is good, so it is the key
		return nil, &StartError{Flag: "--tls-key", Value: cfg.TLSKey, Problem: fileProblem(err), Cause: err}
	}
	return []tls.Certificate{pair}, nil
}

// fileProblem leaves out the name of the file, which stands before it.
func fileProblem(err error) string {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err.Error()
	}
	return strings.TrimPrefix(err.Error(), "tls: ")
}

// checkChain tells a bad certificate from a bad key, which tls.X509KeyPair
// does not.
func checkChain(chain []byte) error {
	for {
		var block *pem.Block
		if block, chain = pem.Decode(chain); block == nil {
			return errors.New("holds no certificate in PEM")
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("holds a certificate that cannot be read: %w", err)
		}
		return nil
	}
}
