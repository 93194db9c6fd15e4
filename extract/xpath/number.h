/* Numbers as libxml2 reads them, digit for digit: what `extract.xpath.numbers` does. */

#ifndef EXTRACT_XPATH_NUMBER_H
#define EXTRACT_XPATH_NUMBER_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_FRACTION = 20, MAX_EXPONENT = 1000000 };

static inline int number_space(uint8_t byte) {
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static inline double number_of(const uint8_t *text, size_t size) {
    size_t at = 0, start;
    while (at < size && number_space(text[at])) {
        at++;
    }
    int minus = at < size && text[at] == '-';
    at += (size_t)minus;
    double value = 0.0;
    start = at;
    for (; at < size && text[at] >= '0' && text[at] <= '9'; at++) {
        value = value * 10 + (text[at] - '0'); /* in this order, for rounding differs in others */
    }
    int digits = at > start;
    if (at < size && text[at] == '.') {
        double fraction = 0.0;
        int places = 0, significant = 0;
        at++;
        start = at;
        for (; at < size && text[at] == '0'; at++) {
            places++;
        }
        for (; at < size && text[at] >= '0' && text[at] <= '9'; at++) {
            if (significant < MAX_FRACTION) {
                fraction = fraction * 10 + (text[at] - '0');
                significant++;
                places++;
            }
        }
        digits |= at > start;
        value += fraction / pow(10.0, places);
    }
    if (!digits) {
        return NAN;
    }
    int exponent = 0, negative = 0;
    if (at < size && (text[at] == 'e' || text[at] == 'E')) {
        at++;
        if (at < size && (text[at] == '-' || text[at] == '+')) {
            negative = text[at] == '-';
            at++;
        }
        for (; at < size && text[at] >= '0' && text[at] <= '9'; at++) {
            if (exponent < MAX_EXPONENT) {
                exponent = exponent * 10 + (text[at] - '0');
            }
        }
    }
    while (at < size && number_space(text[at])) {
        at++;
    }
    if (at < size) {
        return NAN;
    }
    return (minus ? -value : value) * pow(10.0, negative ? -exponent : exponent);
}

#endif
