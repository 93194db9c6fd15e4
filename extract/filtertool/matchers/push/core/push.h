/* The push engine: which of very many queries match a small document.
 *
 *   memory.c     growing arrays, a hash map
 *   strings.c    constants: strings and numbers, each once
 *   paths.c      the paths that queries look at, as one tree; a path that is looked at is a *slot*
 *   sorted.c     constants in order, for comparisons with < and >
 *   parts.c      strings that are searched for in others
 *   registry.c   all of it together
 *   lists.c      lists of postings
 *   posting.c    the postings of rows
 *   templates.c  templates, and by which postings their rows are found
 *   rows.c       queries: rows of templates
 *   crowds.c     the owners of rows
 *   renumber.c   slots in the order in which documents have them
 *   states.c     states: the slots that an element reaches, made from the paths when first needed
 *   document.c   the nodes of one document, and their values
 *   evaluate.c   conditions on the nodes of a document
 *   truths.c     what conditions are at nodes, each found out once
 *   axes.c       steps along any axis, with positions
 *   known.c      what was found out about a document
 *   texts.c      expressions whose value is a string
 *   numbers.c    expressions whose value is a number
 *   anchors.c    the states of a document's nodes, and the slots that they are in
 *   found.c      the nodes at which a slot was found below one anchor
 *   statistics.c which values some of the documents have
 *   checks.c     conditions on values, for many rows at once
 *   accounts.c   how many steps queries take
 *   postings.c   what slots and values lead to
 *   guards.c     other values that must be there, too; pairs of values that decide
 *   ahead.c      the lists that values lead to, loaded into the cache before they are needed
 *   shapes.c     what is known of documents of the same shape
 *   bindings.c   the nodes that queries select, as far as matching has found them
 *   results.c    columns of results
 *   machine.c    one document from its nodes to its results
 *   size.c       how much memory there is
 *
 * and their declarations:
 *
 *   constants.h  strings, numbers
 *   lists.h      lists of postings
 *   registry.h   paths, templates, rows, owners
 *   document.h   one document
 *   conditions.h programs, and what evaluates them
 *   states.h     states
 *   machine.h    the machine, which has all of these and the results
 *   matching.h   what the files offer each other while a document is matched
 *
 * A *template* is a query whose constants are parameters. Its *clauses* are alternatives: a path
 * from the document node with conditions. The first step with conditions is the clause's *anchor*.
 * Paths below the anchor are slots, each with the anchor marked in it, so that it is known which
 * element a path was found below. A *row* of a template has the constants of one query; a query
 * with other numbers belongs to each of the row's *owners*.
 *
 * Each row is posted where a document must lead if the query matches: at slots that exist, or at
 * constants that a slot's value equals, exceeds or contains. Whatever a document leads to is a
 * candidate; its conditions are then evaluated, unless the posting alone decides.
 *
 * The registry does not change while documents are matched, so that several machines, each with its
 * own states and working memory, may match at a time.
 */
#ifndef EXTRACT_PUSH_H
#define EXTRACT_PUSH_H

#include "matching.h"

#endif
